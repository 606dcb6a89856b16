"""Private testers on hard instances: what a code's two values look like under pure differential privacy.

Prints one line for each code: its size, opt for F = 1, the resolution t, the verdicts of twenty seeded
simulations on either side of the promise, and of one private run each. A few minutes.
"""

from collections import Counter
from fractions import Fraction

from geomdp.privacy.sampler import SecureSampler, SimSampler
from geomdp.testers.base import Setting
from lp_gadgets.instance import HardInstance
from lp_gadgets.tanner import TannerCode
from lp_gadgets.tester import CertifiedHistograms

EPSILON, BETA, RUNS = Fraction(1), Fraction(1, 1000), 20
#: (graph, q, copies of a pin); a public record has as many copies as make opt = L D.
CODES = (
    (TannerCode(2, ((0, 1),), "repetition"), 2, 1000),
    (TannerCode.geometry("Fano"), 2, 1000),
    (TannerCode.geometry("Fano"), 4, 1000),
    (TannerCode.geometry("GQ(2,2)"), 2, 1000),
    (TannerCode.geometry("EG(2,4)"), 2, 1000),
    (TannerCode.geometry("PG(2,4)"), 2, 2000),
    (TannerCode.biregular(16), 2, 5000),
    (TannerCode.quasi_cyclic(32), 2, 20000),
)


def verdicts(tester: CertifiedHistograms, inst: HardInstance, F: int) -> str:
    """Return how often each verdict came up in the simulations, and that of a private run."""
    samples = inst.encode(*inst.words(F))
    runs = (tester.converse(*samples, *SimSampler(seed).spawn(2)).verdict for seed in range(RUNS))
    counts = ", ".join(f"{number} {verdict}" for verdict, number in Counter(runs).most_common())
    return f"{counts}; {tester.converse(*samples, SecureSampler(), SecureSampler()).verdict}"


print(f"epsilon = {EPSILON} for either party, beta = {BETA}; {RUNS} simulated runs, then a private one")
line = "{:<12} {:>2} {:>4} {:>5} {:>11} {:>6} {:>6}  {:<20} {:<20}"
print(line.format("code", "q", "d", "m", "n", "opt", "t", "F = 0", "F = 1"))
for code, q, L in CODES:
    D = code.stopping_distance().lower
    inst = HardInstance(code, q, J=L * D, L=L, embedding="cube")
    tester = CertifiedHistograms(Setting(inst.domain, inst.n, inst.n, EPSILON, BETA))
    opt = inst.certify(*inst.words(1)).opt_lower
    name = ":".join(code.name.replace("geometry:", "").split(":")[:2])
    size = inst.domain.d, inst.domain.m, inst.n, opt, tester.resolution
    print(line.format(name, q, *size, *(verdicts(tester, inst, F) for F in (0, 1))), flush=True)
