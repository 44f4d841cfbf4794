"""All commands: the arguments and options of each, and the module that runs it.

This package imports nothing costly. A command's ``module`` has a function ``run`` that takes the
command's instance; it is imported after the options were read and checked.
"""

from typing import TYPE_CHECKING

from mottle.utils.lazy import lazy_attributes

if TYPE_CHECKING:
    from mottle.cli.commands.analyzing import Export as Export
    from mottle.cli.commands.analyzing import Query as Query
    from mottle.cli.commands.analyzing import Sample as Sample
    from mottle.cli.commands.anonymizing import Anonymize as Anonymize
    from mottle.cli.commands.anonymizing import AnonymizeSets as AnonymizeSets
    from mottle.cli.commands.anonymizing import Clean as Clean
    from mottle.cli.commands.anonymizing import Demo as Demo
    from mottle.cli.commands.anonymizing import Suggest as Suggest
    from mottle.cli.commands.base import FORMATS as FORMATS
    from mottle.cli.commands.base import Command as Command
    from mottle.cli.commands.base import check_method as check_method
    from mottle.cli.commands.base import names_registered_in as names_registered_in
    from mottle.cli.commands.judging import Audit as Audit
    from mottle.cli.commands.judging import Compare as Compare
    from mottle.cli.commands.judging import CompareSets as CompareSets
    from mottle.cli.commands.judging import DrawValues as DrawValues
    from mottle.cli.commands.judging import Evaluate as Evaluate
    from mottle.cli.commands.judging import Explain as Explain
    from mottle.cli.commands.judging import Report as Report
    from mottle.cli.commands.judging import Risk as Risk
    from mottle.cli.commands.preparing import Hierarchy as Hierarchy
    from mottle.cli.commands.preparing import Import as Import
    from mottle.cli.commands.preparing import Inspect as Inspect
    from mottle.cli.commands.preparing import LintHierarchy as LintHierarchy
    from mottle.cli.commands.preparing import Methods as Methods
    from mottle.cli.commands.preparing import Studio as Studio
    from mottle.cli.commands.preparing import Warm as Warm
    from mottle.cli.commands.signing import Sign as Sign
    from mottle.cli.commands.signing import Verify as Verify
else:
    _NAMES = {
        "analyzing": "Export Query Sample",
        "anonymizing": "Anonymize AnonymizeSets Clean Demo Suggest",
        "base": "FORMATS Command check_method names_registered_in",
        "judging": "Audit Compare CompareSets DrawValues Evaluate Explain Report Risk",
        "preparing": "Hierarchy Import Inspect LintHierarchy Methods Studio Warm",
        "signing": "Sign Verify",
    }
    _PLACES = {
        name: f"{__name__}.{module}:{name}"
        for module, names in _NAMES.items()
        for name in names.split()
    }
    __getattr__, __dir__ = lazy_attributes(__name__, _PLACES)
