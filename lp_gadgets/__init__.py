"""lp_gadgets: hard instances for halfspace agreement, as explicit linear programs, built and certified.

From ground to roof; a module imports only modules of its own room or of rooms before it:

* ``strict``, ``files``, ``field``, ``rows``, ``sparse``, ``layout``, ``embedding``: labels of F_q, the points
  that stand for them, and rows over their coordinates.
* ``graphs``, ``stopping``, ``code``, ``tanner``: Tanner graphs as data, the algorithms on them, the stopping
  distance with its proof, the code, and the class that ties them together.
* ``polytopes``, ``hull``, ``relation``, ``gadgets``: exact facets of finite point sets, the relations of a
  program, and the rows that impose one relation.
* ``records``, ``verifier``: rows as labelled records; the check of a certificate, which needs none
  of what follows.
* ``program``, ``stored``, ``export``: the whole program; an instance that was read, and its other formats.
* ``public``, ``solvers``, ``witnesses``, ``certify``, ``folder``, ``instance``: an instance in memory, from
  its public part to the class with everything.
* ``thresholds``, ``scales``, ``tester``, ``catalogue``, ``pictures``, ``cli``: what is done with instances.

Names are imported when they are first used, so that importing the package takes no time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from geomdp.testers.base import Setting as Setting
    from lp_gadgets import catalogue as catalogue
    from lp_gadgets.certify import Certificate as Certificate
    from lp_gadgets.code import FieldCode as FieldCode
    from lp_gadgets.embedding import Embedding as Embedding
    from lp_gadgets.embedding import tangent_identity as tangent_identity
    from lp_gadgets.folder import Folder as Folder
    from lp_gadgets.folder import load as load
    from lp_gadgets.gadgets.encoding import Encoding as Encoding
    from lp_gadgets.gadgets.encoding import encode as encode
    from lp_gadgets.gadgets.encoding import predict as predict
    from lp_gadgets.graphs.peeling import Peeling as Peeling
    from lp_gadgets.graphs.peeling import peel as peel
    from lp_gadgets.graphs.proof import StoppingProof as StoppingProof
    from lp_gadgets.graphs.proof import verify_lower as verify_lower
    from lp_gadgets.hull import Hull as Hull
    from lp_gadgets.hull import facets as facets
    from lp_gadgets.instance import HardInstance as HardInstance
    from lp_gadgets.layout import Block as Block
    from lp_gadgets.layout import Layout as Layout
    from lp_gadgets.program import Program as Program
    from lp_gadgets.program import ProgramSize as ProgramSize
    from lp_gadgets.program import Recipe as Recipe
    from lp_gadgets.program import predict_size as predict_size
    from lp_gadgets.program import size_table as size_table
    from lp_gadgets.relation import Relation as Relation
    from lp_gadgets.rows import Rows as Rows
    from lp_gadgets.rows import Size as Size
    from lp_gadgets.scales import Scale as Scale
    from lp_gadgets.scales import SharedDomain as SharedDomain
    from lp_gadgets.scales import choose_scales as choose_scales
    from lp_gadgets.scales import information as information
    from lp_gadgets.scales import lower_bound as lower_bound
    from lp_gadgets.scales import merit_table as merit_table
    from lp_gadgets.solvers import largest_deviation as largest_deviation
    from lp_gadgets.solvers import least_dropped as least_dropped
    from lp_gadgets.solvers import least_slack as least_slack
    from lp_gadgets.solvers import solve as solve
    from lp_gadgets.sparse import SparseRows as SparseRows
    from lp_gadgets.stopping import StoppingDistance as StoppingDistance
    from lp_gadgets.stopping import select as select
    from lp_gadgets.stopping import stopping_distance as stopping_distance
    from lp_gadgets.tanner import TannerCode as TannerCode
    from lp_gadgets.tanner import WeakGraphWarning as WeakGraphWarning
    from lp_gadgets.tester import CertifiedHistograms as CertifiedHistograms
    from lp_gadgets.tester import GapWarning as GapWarning
    from lp_gadgets.thresholds import ThresholdInstance as ThresholdInstance
    from lp_gadgets.thresholds import threshold_bound as threshold_bound
    from lp_gadgets.verifier import Evidence as Evidence
    from lp_gadgets.verifier import Verdict as Verdict
    from lp_gadgets.verifier import verify as verify
    from lp_gadgets.witnesses.rigidity import Rigidity as Rigidity
    from lp_gadgets.witnesses.witness import Witness as Witness

#: The module of every name of the package.
_HOMES = {
    "Setting": "geomdp.testers.base",
    "Certificate": "lp_gadgets.certify",
    "FieldCode": "lp_gadgets.code",
    "Embedding": "lp_gadgets.embedding",
    "tangent_identity": "lp_gadgets.embedding",
    "Encoding": "lp_gadgets.gadgets.encoding",
    "encode": "lp_gadgets.gadgets.encoding",
    "predict": "lp_gadgets.gadgets.encoding",
    "Folder": "lp_gadgets.folder",
    "load": "lp_gadgets.folder",
    "Hull": "lp_gadgets.hull",
    "facets": "lp_gadgets.hull",
    "HardInstance": "lp_gadgets.instance",
    "Block": "lp_gadgets.layout",
    "Layout": "lp_gadgets.layout",
    "Peeling": "lp_gadgets.graphs.peeling",
    "peel": "lp_gadgets.graphs.peeling",
    "Program": "lp_gadgets.program",
    "ProgramSize": "lp_gadgets.program",
    "Recipe": "lp_gadgets.program",
    "predict_size": "lp_gadgets.program",
    "size_table": "lp_gadgets.program",
    "Relation": "lp_gadgets.relation",
    "Rigidity": "lp_gadgets.witnesses.rigidity",
    "Rows": "lp_gadgets.rows",
    "Size": "lp_gadgets.rows",
    "Scale": "lp_gadgets.scales",
    "SharedDomain": "lp_gadgets.scales",
    "choose_scales": "lp_gadgets.scales",
    "information": "lp_gadgets.scales",
    "lower_bound": "lp_gadgets.scales",
    "merit_table": "lp_gadgets.scales",
    "largest_deviation": "lp_gadgets.solvers",
    "least_dropped": "lp_gadgets.solvers",
    "least_slack": "lp_gadgets.solvers",
    "solve": "lp_gadgets.solvers",
    "SparseRows": "lp_gadgets.sparse",
    "StoppingDistance": "lp_gadgets.stopping",
    "select": "lp_gadgets.stopping",
    "stopping_distance": "lp_gadgets.stopping",
    "StoppingProof": "lp_gadgets.graphs.proof",
    "verify_lower": "lp_gadgets.graphs.proof",
    "TannerCode": "lp_gadgets.tanner",
    "WeakGraphWarning": "lp_gadgets.tanner",
    "CertifiedHistograms": "lp_gadgets.tester",
    "GapWarning": "lp_gadgets.tester",
    "ThresholdInstance": "lp_gadgets.thresholds",
    "threshold_bound": "lp_gadgets.thresholds",
    "Evidence": "lp_gadgets.verifier",
    "Verdict": "lp_gadgets.verifier",
    "verify": "lp_gadgets.verifier",
    "Witness": "lp_gadgets.witnesses.witness",
}
_MODULES = ("catalogue",)


def __getattr__(name: str) -> Any:
    """Return a name of the package, imported now."""
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = import_module(f"lp_gadgets.{name}")
    else:
        raise AttributeError(f"module 'lp_gadgets' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the names of the package."""
    return sorted([*_HOMES, *_MODULES])
