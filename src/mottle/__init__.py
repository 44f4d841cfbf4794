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
from mottle.io.databases import database_batches, read_database, write_database
from mottle.io.read import read_table
from mottle.io.read_release import read_release
from mottle.pipeline import Progress, anonymize
from mottle.release import Release
from mottle.schema import Column, Kind, Representation, Role, Schema
from mottle.sets.comparison import compare_sets
from mottle.sets.items import SetData
from mottle.sets.pipeline import anonymize_sets
from mottle.sets.read import read_sets
from mottle.sets.read_release import read_set_release
from mottle.sets.release import SetRelease

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
    "SetData",
    "SetRelease",
    "StorageError",
    "UsageError",
    "anonymize",
    "anonymize_sets",
    "audit",
    "audit_release",
    "compare_sets",
    "database_batches",
    "datasets",
    "read_database",
    "read_release",
    "read_set_release",
    "read_sets",
    "read_table",
    "write_database",
]
