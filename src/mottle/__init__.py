"""mottle: anonymize tables by heterogeneous generalization.

The names below are imported when they are first used (see `mottle.utils.lazy`), so that
``import mottle`` itself takes no time.
"""

import os
from typing import TYPE_CHECKING

from mottle._version import __version__
from mottle.utils.lazy import lazy_attributes, lazy_module

if TYPE_CHECKING:
    from mottle import audit, datasets, risk
    from mottle.audit import AuditReport, audit_release
    from mottle.comparison.compare import compare
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
    from mottle.guarantees.entropy_l_diversity import EntropyLDiversity
    from mottle.guarantees.group_caps import GroupCaps
    from mottle.guarantees.k_anonymity import KAnonymity
    from mottle.guarantees.known_records import KnownRecords
    from mottle.guarantees.l_diversity import LDiversity
    from mottle.guarantees.max_drop import MaxDrop
    from mottle.guarantees.recursive_diversity import RecursiveDiversity
    from mottle.hierarchy.tree import Hierarchy
    from mottle.inspection import inspect
    from mottle.inspection.explain import explain_row
    from mottle.io.databases import database_batches, read_database, write_database
    from mottle.io.databases import database_batches as scan_database
    from mottle.io.read_sets import read_sets
    from mottle.io.read_table import read_table
    from mottle.itemsets.data import ItemSets
    from mottle.pipeline import spark
    from mottle.pipeline.anonymize import anonymize
    from mottle.pipeline.anonymize_sets import anonymize_sets
    from mottle.pipeline.progress import Progress
    from mottle.pipeline.release import Release, SetRelease, read_release, read_set_release
    from mottle.pipeline.streaming import anonymize as anonymize_stream
    from mottle.pipeline.streaming import anonymize_sets as anonymize_sets_stream
    from mottle.pipeline.suggest import Suggestion, suggest
    from mottle.queries.estimate import Estimate
    from mottle.release.certificate import Certificate
    from mottle.release.links import Links
    from mottle.risk import RiskReport, measure_risk
    from mottle.schema.model import Column, Kind, Objective, Representation, Role, Schema
    from mottle.schema.reading import ReadOptions
    from mottle.utils.steps import Step

# Where each public name is defined: "module:attribute", or "module" for a module.
_PLACES = {
    "AuditReport": "mottle.audit:AuditReport",
    "BetaLikeness": "mottle.guarantees.beta_likeness:BetaLikeness",
    "Caps": "mottle.guarantees.caps:Caps",
    "Certificate": "mottle.release.certificate:Certificate",
    "Column": "mottle.schema.model:Column",
    "DataError": "mottle.errors:DataError",
    "EntropyLDiversity": "mottle.guarantees.entropy_l_diversity:EntropyLDiversity",
    "Estimate": "mottle.queries.estimate:Estimate",
    "Form": "mottle.encoding.domain:Form",
    "GroupCaps": "mottle.guarantees.group_caps:GroupCaps",
    "Guarantee": "mottle.guarantees.base:Guarantee",
    "GuaranteeError": "mottle.errors:GuaranteeError",
    "Hierarchy": "mottle.hierarchy.tree:Hierarchy",
    "ItemSets": "mottle.itemsets.data:ItemSets",
    "KAnonymity": "mottle.guarantees.k_anonymity:KAnonymity",
    "Kind": "mottle.schema.model:Kind",
    "KnownRecords": "mottle.guarantees.known_records:KnownRecords",
    "LDiversity": "mottle.guarantees.l_diversity:LDiversity",
    "Links": "mottle.release.links:Links",
    "MaxDrop": "mottle.guarantees.max_drop:MaxDrop",
    "MottleError": "mottle.errors:MottleError",
    "Objective": "mottle.schema.model:Objective",
    "PrivacyError": "mottle.errors:PrivacyError",
    "Progress": "mottle.pipeline.progress:Progress",
    "Release": "mottle.pipeline.release:Release",
    "ReadOptions": "mottle.schema.reading:ReadOptions",
    "RecursiveDiversity": "mottle.guarantees.recursive_diversity:RecursiveDiversity",
    "Representation": "mottle.schema.model:Representation",
    "RiskReport": "mottle.risk:RiskReport",
    "Role": "mottle.schema.model:Role",
    "Schema": "mottle.schema.model:Schema",
    "SchemaError": "mottle.errors:SchemaError",
    "SetRelease": "mottle.pipeline.release:SetRelease",
    "Step": "mottle.utils.steps:Step",
    "StorageError": "mottle.errors:StorageError",
    "Suggestion": "mottle.pipeline.suggest:Suggestion",
    "UsageError": "mottle.errors:UsageError",
    "anonymize": "mottle.pipeline.anonymize:anonymize",
    "anonymize_sets": "mottle.pipeline.anonymize_sets:anonymize_sets",
    "anonymize_sets_stream": "mottle.pipeline.streaming:anonymize_sets",
    "anonymize_stream": "mottle.pipeline.streaming:anonymize",
    "audit": "mottle.audit",
    "audit_release": "mottle.audit:audit_release",
    "compare": "mottle.comparison.compare:compare",
    "compare_sets": "mottle.evaluation.set_release:compare_sets",
    "database_batches": "mottle.io.databases:database_batches",  # the older name of scan_database
    "datasets": "mottle.datasets",
    "explain_row": "mottle.inspection.explain:explain_row",
    "inspect": "mottle.inspection:inspect",
    "measure_risk": "mottle.risk:measure_risk",
    "read_database": "mottle.io.databases:read_database",
    "read_release": "mottle.pipeline.release:read_release",
    "read_set_release": "mottle.pipeline.release:read_set_release",
    "read_sets": "mottle.io.read_sets:read_sets",
    "read_table": "mottle.io.read_table:read_table",
    "risk": "mottle.risk",
    "scan_database": "mottle.io.databases:database_batches",
    "spark": "mottle.pipeline.spark",
    "suggest": "mottle.pipeline.suggest:suggest",
    "write_database": "mottle.io.databases:write_database",
}

_CACHE = os.path.join(os.path.dirname(__file__), "__pycache__")
if "NUMBA_CACHE_DIR" in os.environ or not os.access(_CACHE, os.W_OK):  # a read-only installation
    lazy_module("mottle.utils.kernel_cache").choose_cache(os.path.dirname(__file__))

if not TYPE_CHECKING:  # type checkers see the imports above, and report names that do not exist
    __getattr__, __dir__ = lazy_attributes(__name__, _PLACES)

__all__ = [
    "AuditReport",
    "BetaLikeness",
    "Caps",
    "Certificate",
    "Column",
    "DataError",
    "EntropyLDiversity",
    "Estimate",
    "Form",
    "GroupCaps",
    "Guarantee",
    "GuaranteeError",
    "Hierarchy",
    "ItemSets",
    "KAnonymity",
    "Kind",
    "KnownRecords",
    "LDiversity",
    "Links",
    "MaxDrop",
    "MottleError",
    "Objective",
    "PrivacyError",
    "Progress",
    "ReadOptions",
    "RecursiveDiversity",
    "Release",
    "Representation",
    "RiskReport",
    "Role",
    "Schema",
    "SchemaError",
    "SetRelease",
    "Step",
    "StorageError",
    "Suggestion",
    "UsageError",
    "__version__",
    "anonymize",
    "anonymize_sets",
    "anonymize_sets_stream",
    "anonymize_stream",
    "audit",
    "audit_release",
    "compare",
    "compare_sets",
    "database_batches",
    "datasets",
    "explain_row",
    "inspect",
    "measure_risk",
    "read_database",
    "read_release",
    "read_set_release",
    "read_sets",
    "read_table",
    "risk",
    "scan_database",
    "spark",
    "suggest",
    "write_database",
]
