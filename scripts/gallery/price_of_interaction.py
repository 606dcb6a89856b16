"""What interaction is worth: users for hidden layers by arity, and for pointer chasing by length."""

from figures import save
from matplotlib import pyplot as plt

from geomdp.local.finite import odds
from geomdp.local.hidden_prices import price_of_interaction
from geomdp.local.pointer_chasing import early_users, rounds_users

INK, WARM, PALE, GREEN = "#1f4e79", "#c0504d", "#8a8a8a", "#4f8a3c"


def gap(
    axes: plt.Axes, top: tuple[float, float], bottom: float, text: str, place: tuple[float, float]
) -> None:
    """Mark the distance from a point down to another curve."""
    axes.annotate("", top, (top[0], bottom), arrowprops={"arrowstyle": "<->", "color": WARM})
    axes.text(*place, text, color=WARM, fontsize=12, ha="right")


figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.9))

prices = [price_of_interaction(m) for m in range(2, 13)]
levels = [price.m for price in prices]
curves = [
    ("together", "sequential: announce both layers, bit by bit", PALE, "s--"),
    ("leaf", "sequential: random leaves", PALE, "^:"),
    ("best", "sequential: announce layers in a block code", WARM, "o-"),
    ("uniform", "sequential, uniform layers only: separate", "#d9a441", ".--"),
    ("one_bit", "fully interactive: one bit per layer", GREEN, ".-"),
    ("search", "fully interactive: votes", INK, "o-"),
]
for name, label, colour, style in curves:
    left.semilogy(levels, [getattr(p, name) for p in prices], style, color=colour, label=label, ms=4)
last = prices[-1]
gap(left, (12, last.best), last.search, f"x {last.best_factor:,.0f}", (11.8, 13_000))
left.set_xlabel("m  (arity $A = 2^m$, depth $2^A$)")
left.set_ylabel("users for success 0.9")
left.set_title("Hidden layers, ε = 1")
left.set_ylim(50, 3e9)
left.legend(frameon=False, fontsize=8.5, loc="upper left")

sizes = [2**j for j in range(2, 11)]
ratio = odds(1)
two, one = ([f(2, size, ratio) for size in sizes] for f in (rounds_users, early_users))
right.loglog(sizes, one, "o-", color=WARM, base=2, label="1 round (non-interactive)", ms=4)
right.loglog(sizes, two, "o-", color=INK, base=2, label="2 rounds", ms=4)
right.set_yscale("log")
gap(right, (sizes[-1], one[-1]), two[-1], f"x {one[-1] / two[-1]:,.0f}", (930, 15_000))
right.set_xlabel("l  (pointers in a vector)")
right.set_ylabel("users, each pointer found with 0.95")
right.set_title("Pointer chasing PC(2, l), ε = 1")
right.set_ylim(50, 1e7)
right.legend(frameon=False, fontsize=8.5, loc="upper left")

for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
figure.suptitle("The price of interaction: users at equal privacy")
save(figure, "price_of_interaction.png")
