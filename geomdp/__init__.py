"""geomdp: can one classifier fit both datasets? Private two-party tests and exact optima.

Every public name is imported when it is first used (PEP 562), so that `import geomdp` costs almost nothing
and a command can be interrupted from its first moment on.
"""

from geomdp.core.pages import install_page

TYPE_CHECKING = False  # as in typing, whose import would cost more than all of this module
if TYPE_CHECKING:
    from geomdp.bounds import PopulationBounds as PopulationBounds
    from geomdp.bounds import population_bounds as population_bounds
    from geomdp.core.classifier import Halfspace as Halfspace
    from geomdp.core.classifier import Threshold as Threshold
    from geomdp.core.domain import Domain as Domain
    from geomdp.core.domain import Feature as Feature
    from geomdp.core.errors import ArgumentError as ArgumentError
    from geomdp.core.errors import BudgetError as BudgetError
    from geomdp.core.errors import CapacityError as CapacityError
    from geomdp.core.errors import CertificateError as CertificateError
    from geomdp.core.errors import GeomdpError as GeomdpError
    from geomdp.core.errors import InfeasibleError as InfeasibleError
    from geomdp.core.errors import ProtocolError as ProtocolError
    from geomdp.core.errors import TableError as TableError
    from geomdp.core.sample import Sample as Sample
    from geomdp.geometry.arrangement import Dichotomies as Dichotomies
    from geomdp.geometry.arrangement import count_dichotomies as count_dichotomies
    from geomdp.geometry.arrangement import dichotomies as dichotomies
    from geomdp.geometry.arrangement import estimate as estimate
    from geomdp.geometry.containers import containers as containers
    from geomdp.geometry.convexity import caratheodory as caratheodory
    from geomdp.geometry.convexity import separate as separate
    from geomdp.opt.certificate import Certificate as Certificate
    from geomdp.opt.depth import halfspace_depth as halfspace_depth
    from geomdp.opt.halfspace import opt_halfspace as opt_halfspace
    from geomdp.opt.result import OptResult as OptResult
    from geomdp.opt.threshold import opt_threshold as opt_threshold
    from geomdp.opt.verifier import verify as verify
    from geomdp.privacy.ledger import Ledger as Ledger
    from geomdp.testers.base import Outcome as Outcome
    from geomdp.testers.curves import resolution_curves as resolution_curves
    from geomdp.testers.plan import Plan as Plan
    from geomdp.testers.plan import plan as plan
    from geomdp.testers.power import operating_characteristic as operating_characteristic

__version__ = "0.1.0"

_HOMES = {
    "geomdp.bounds": ("PopulationBounds", "population_bounds"),
    "geomdp.core.classifier": ("Halfspace", "Threshold"),
    "geomdp.core.domain": ("Domain", "Feature"),
    "geomdp.core.errors": (
        "ArgumentError",
        "BudgetError",
        "CapacityError",
        "CertificateError",
        "GeomdpError",
        "InfeasibleError",
        "ProtocolError",
        "TableError",
    ),
    "geomdp.core.sample": ("Sample",),
    "geomdp.geometry.arrangement": ("Dichotomies", "count_dichotomies", "dichotomies", "estimate"),
    "geomdp.geometry.containers": ("containers",),
    "geomdp.geometry.convexity": ("caratheodory", "separate"),
    "geomdp.opt.certificate": ("Certificate",),
    "geomdp.opt.depth": ("halfspace_depth",),
    "geomdp.opt.halfspace": ("opt_halfspace",),
    "geomdp.opt.result": ("OptResult",),
    "geomdp.opt.threshold": ("opt_threshold",),
    "geomdp.opt.verifier": ("verify",),
    "geomdp.privacy.ledger": ("Ledger",),
    "geomdp.testers.base": ("Outcome",),
    "geomdp.testers.curves": ("resolution_curves",),
    "geomdp.testers.plan": ("Plan", "plan"),
    "geomdp.testers.power": ("operating_characteristic",),
}
_PLACES = {name: home for home, names in _HOMES.items() for name in names}


#: Rooms that are reached as attributes, e.g. `geomdp.privacy`, without an import of their own.
_ROOMS = {"bounds", "core", "exact", "geometry", "opt", "privacy", "protocol", "testers"}

if not TYPE_CHECKING:  # a type checker sees the imports above, and nothing else

    def __getattr__(name):
        from importlib import import_module

        if name in _ROOMS:
            return import_module(f"geomdp.{name}")
        if name not in _PLACES:
            raise AttributeError(f"module 'geomdp' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_PLACES[name]), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})


def _page(outcome: "Outcome") -> str:
    from geomdp.report.page import report_html

    return report_html(outcome)


install_page(_page)
