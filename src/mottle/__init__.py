"""mottle: anonymize tables by heterogeneous generalization."""

__version__ = "0.1.0"

from mottle import datasets
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
    "datasets",
    "read_release",
    "read_table",
]
