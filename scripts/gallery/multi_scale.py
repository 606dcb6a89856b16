"""Error of private learners against n: evenly spread records, and records at all scales at once."""

from figures import save
from matplotlib import pyplot as plt

from geomdp.learners.trials import PRIVATE, PUBLIC, SURROGATES, WORLDS, learning_curve
from geomdp.plot.learning import error_plot

SIZES = (500, 1000, 2000, 4000, 8000)
RUNS = 11

if __name__ == "__main__":
    figure, axes = plt.subplots(1, 2, figsize=(13, 5.4), sharey=True)
    for ax, name in zip(axes, ("square", "multi-scale"), strict=True):
        methods = (*PRIVATE, PUBLIC, *SURROGATES)
        curves = [
            # public points: the sweep is quadratic in n, and the error is small early
            learning_curve(WORLDS[name], method, SIZES[:3] if method == PUBLIC else SIZES, RUNS)
            for method in methods
        ]
        error_plot(curves, ax=ax)
        ax.set_title(f"{WORLDS[name].name}, ε = 1 (noisy gradient descent: δ = 10⁻⁶)")
    figure.suptitle("Convex surrogates fail where no scale fits; combinatorial learners do not (simulated)")
    save(figure, "multi_scale.png")
