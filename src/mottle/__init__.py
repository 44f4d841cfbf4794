"""mottle: anonymize tables by heterogeneous generalization."""

__version__ = "0.1.0"

from mottle import audit, datasets
from mottle.audit import AuditReport, audit_release
from mottle.coding import Form
from mottle.errors import (
    DataError,
    GuaranteeError,
    MottleError,
    PrivacyError,
    SchemaError,
    StorageError,
    UsageError,
)
from mottle.guarantees import BetaLikeness, Caps, Guarantee, KAnonymity, LDiversity
from mottle.hierarchy import Hierarchy
from mottle.io.read import read_table
from mottle.io.read_release import read_release
from mottle.pipeline import Progress, anonymize
from mottle.release import Release
from mottle.schema import Column, Kind, Representation, Role, Schema

__all__ = [
    "AuditReport",
    "BetaLikeness",
    "Caps",
    "Column",
    "DataError",
    "Form",
    "Guarantee",
    "GuaranteeError",
    "Hierarchy",
    "KAnonymity",
    "Kind",
    "LDiversity",
    "MottleError",
    "PrivacyError",
    "Progress",
    "Release",
    "Representation",
    "Role",
    "Schema",
    "SchemaError",
    "StorageError",
    "UsageError",
    "anonymize",
    "audit",
    "audit_release",
    "datasets",
    "read_release",
    "read_table",
]
