"""Which tester resolves most: by privacy budget, and by the number of cells of a square grid."""

from figures import save
from matplotlib import pyplot as plt

from geomdp import Domain
from geomdp.plot.crossover import resolution_plot
from geomdp.testers.curves import resolution_curves


def square(levels: int) -> Domain:
    """Return a square grid."""
    return Domain.grid([("x", 0, 1, levels), ("y", 0, 1, levels)])


figure, (upper, lower) = plt.subplots(2, 1, figsize=(10, 10.5))
by_budget = resolution_curves(square(16), "epsilon", n=10**6, epsilon=1, thorough=True)
resolution_plot(by_budget, ax=upper)
upper.set_title("16 x 16 cells, β = 0.1, mixed labels")
by_cells = resolution_curves([square(k) for k in (4, 6, 8, 12, 16, 24, 32)], "domain", n=10**6, thorough=True)
resolution_plot(by_cells, ax=lower)
lower.set_title("Square grids, ε = 1, β = 0.1, mixed labels")
figure.suptitle("Certified resolution of every tester")
save(figure, "crossover.png")
