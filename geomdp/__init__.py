"""geomdp: can one classifier fit both datasets? Private two-party tests and exact optima."""

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

__version__ = "0.1.0"
