"""Simulated power of the one-way tester on 16 x 16 cells: where conflicts lie decides how soon they show."""

from figures import flights, save
from matplotlib import pyplot as plt

from geomdp import Domain
from geomdp.plot.power import power_plot
from geomdp.testers.families import Flips, Pairs, RandomLabels
from geomdp.testers.plan import plan
from geomdp.testers.power import operating_characteristic

if __name__ == "__main__":  # worker processes import this file
    grid = Domain.grid([("x", 0, 1, 16), ("y", 0, 1, 16)])
    row = plan(grid, n=20_000, epsilon=1).select("one-way")
    families = (Pairs("cell"), Pairs("spread"), Pairs("spread", "even"), RandomLabels())
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5.8))
    power_plot([operating_characteristic(row, family) for family in families], ax=left)
    left.set_title(f"16 x 16 cells, n = 20,000, ε = 1: certified t = {row.resolution} (dashed)")
    S_A, S_B = flights("same_jfk"), flights("same_lga")
    row = plan(S_A.domain, n=(S_A.n, S_B.n), epsilon=1).select("one-way")
    power_plot([operating_characteristic(row, Flips(S_A, S_B, "flights"))], ax=right)
    right.set_title(f"Shipped flights, n = {S_A.n:,} and {S_B.n:,}, ε = 1: certified t = {row.resolution}")
    figure.suptitle("How often Far is said, simulated (noise law of the verdict)")
    save(figure, "power.png")
