"""The exact laws of the mechanisms, at one address: what tests compare with, what calibration relies on.

Wherever a float is returned as a bound, its rounding error is bounded in the docstring and added on the safe
side; the word "certified" means that, and nothing that was simulated.
"""

from geomdp.privacy.laplace import dlap_mgf_log, dlap_pmf, dlap_quantile, dlap_sf
from geomdp.privacy.order import order_index
from geomdp.privacy.selection import pf_gap, pf_law, pf_pmf, pf_tail
from geomdp.privacy.sums import DlapSum, chernoff_upper, dlap_sum_sf

__all__ = [
    "DlapSum",
    "chernoff_upper",
    "dlap_mgf_log",
    "dlap_pmf",
    "dlap_quantile",
    "dlap_sf",
    "dlap_sum_sf",
    "order_index",
    "pf_gap",
    "pf_law",
    "pf_pmf",
    "pf_tail",
]
