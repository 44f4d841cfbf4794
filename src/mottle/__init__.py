"""mottle: anonymize tables by heterogeneous generalization."""

from mottle import audit, datasets
from mottle._version import __version__
from mottle.audit import AuditReport, audit_release
from mottle.encoding.domain import Form
from mottle.errors import (
    DataError,
    GuaranteeError,
    MottleError,
    PrivacyError,
    SchemaError,
    StorageError,
    UsageError,
)
from mottle.evaluation.set_release import compare_sets
from mottle.guarantees.base import Guarantee
from mottle.guarantees.beta_likeness import BetaLikeness
from mottle.guarantees.caps import Caps
from mottle.guarantees.k_anonymity import KAnonymity
from mottle.guarantees.l_diversity import LDiversity
from mottle.hierarchy.tree import Hierarchy
from mottle.io.databases import database_batches, read_database, write_database
from mottle.io.read_sets import read_sets
from mottle.io.read_table import read_table
from mottle.itemsets.data import ItemSets
from mottle.pipeline.anonymize import anonymize
from mottle.pipeline.anonymize_sets import anonymize_sets
from mottle.pipeline.progress import Progress
from mottle.pipeline.release import Release, SetRelease, read_release, read_set_release
from mottle.release.certificate import Certificate
from mottle.schema.model import Column, Kind, Representation, Role, Schema

__all__ = [
    "AuditReport",
    "BetaLikeness",
    "Caps",
    "Certificate",
    "Column",
    "DataError",
    "Form",
    "Guarantee",
    "GuaranteeError",
    "Hierarchy",
    "ItemSets",
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
    "SetRelease",
    "StorageError",
    "UsageError",
    "__version__",
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
