"""From a field element to a certified gap: the symbol, the code, the program, the mistakes, the bound."""

import numpy as np
from figures import folder, save
from matplotlib import pyplot as plt

from geomdp.core.classifier import Halfspace
from geomdp.plot.artists import COLOURS
from lp_gadgets.embedding import Embedding
from lp_gadgets.folder import load
from lp_gadgets.instance import HardInstance
from lp_gadgets.pictures import draw_symbol
from lp_gadgets.scales import Scale, lower_bound
from lp_gadgets.tanner import TannerCode
from lp_gadgets.witnesses.witness import integral_witness

# 1. A symbol of F_8 is a vertex of a polygon; one private inequality pins it.
figure, (left, right) = plt.subplots(1, 2, figsize=(10.4, 5.6))
draw_symbol(Embedding(8), pin=5, ax=left)
left.set_title("A symbol of $F_8$ on the parabola, pinned to 5")
draw_symbol(Embedding(4, "cube"), pin=2, ax=right)
right.set_title("The same idea on a square, for $F_4$")
save(figure, "gadget_symbol.png")

# 2. A code whose checks recover any three erased symbols, but not this stopping set of four.
code = TannerCode.quasi_cyclic(32)
inst = HardInstance(code, q=2, J=100, L=3)
T = set(inst.stopping.witness)
figure, axes = plt.subplots(figsize=(9.6, 3.6))
spread = (code.K - 1) / (code.M - 1)
for c, check in enumerate(code.checks):
    inside = len(T.intersection(check))
    for v in check:
        lost = v in T
        colour = COLOURS["wrong"] if lost else COLOURS["gone"]
        axes.plot([v, c * spread], [1, 0], color=colour, lw=1.4 if lost else 0.6, zorder=2 if lost else 1)
    axes.scatter(c * spread, 0, marker="s", s=40, color=COLOURS["wrong" if inside else "grey"], zorder=3)
axes.scatter(
    range(code.K),
    [1] * code.K,
    s=36,
    zorder=3,
    color=[COLOURS["wrong" if v in T else "ink"] for v in range(code.K)],
)
axes.set_yticks([0, 1], ["16 checks", "32 symbols"])
axes.set_xticks([])
axes.tick_params(length=0)
axes.set_frame_on(False)
axes.set_title(
    f"Every check meets the red set of {len(T)} symbols never or at least twice; no smaller set is like that"
)
save(figure, "gadget_code.png")

# 3. The rows of the program, and the two ways to classify its records.
u, v = inst.words(1)
rows = inst.program.public
figure, (left, right) = plt.subplots(1, 2, figsize=(11.4, 5.4), width_ratios=(1, 1.15))
left.scatter(
    rows.index, np.repeat(np.arange(len(rows)), np.diff(rows.start)), s=0.25, lw=0, color=COLOURS["ink"]
)
left.invert_yaxis()
left.set_xlabel(f"{rows.columns} variables")
left.set_ylabel("public rows")
left.set_title(f"The program: {len(rows):,} public rows, {rows.nonzeros:,} coefficients")
S_A, S_B = inst.encode(u, v)
points = {
    "true words:\nthe last row is given up": integral_witness(inst.program, *inst.codewords(u, v)),
    "half-way on the red set:\nits pins are given up": inst.witness(u, v),
}
heights = []
for point in points.values():
    h = Halfspace((*point.numerators, point.denominator))
    heights.append((h.mistakes(S_A), h.mistakes(S_B)))
for party, (name, below) in enumerate((("Alice", [0, 0]), ("Bob", [a for a, _ in heights]))):
    right.bar(
        range(2),
        [pair[party] for pair in heights],
        0.5,
        below,
        color=COLOURS[name],
        label=f"{name}'s records",
    )
for i, pair in enumerate(heights):
    right.annotate(str(sum(pair)), (i, sum(pair)), xytext=(0, 4), textcoords="offset points", ha="center")
right.axhline(
    inst.gap, color=COLOURS["wrong"], lw=1.2, ls="--", label=f"certified: no halfspace below {inst.gap}"
)
right.set_xticks(range(2), points)
right.set_xlim(-0.6, 1.6)
right.set_ylabel("mistakes")
right.set_title("F = 1: mistakes of two classifiers, and the bound")
right.legend(frameon=False)
save(figure, "gadget_gap.png")

# 4. What it means: no private tester resolves less than this, per unit of the constant c_I.
figure, axes = plt.subplots(figsize=(7.6, 5.2))
n = np.unique(np.logspace(2, 8, 200).astype(int)).tolist()
graphs = [TannerCode.quasi_cyclic(K) for K in (16, 32, 64, 128)]
scales = [Scale.of(graph, q) for graph in graphs for q in (2, 4, 8)]
for epsilon, style in ((0.02, "-"), (0.01, "--")):
    curve = lower_bound(scales, n, epsilon)
    axes.plot(n, [t for _, t, _ in curve], style, color=COLOURS["ink"], label=f"$\\varepsilon$ = {epsilon}")
axes.set_xscale("log")
axes.set_yscale("log")
axes.set_xlabel("records of either party, n")
axes.set_ylabel("least resolution of any private tester, for $c_I$ = 1")
axes.set_title("Explicit lower bounds from twelve certified scales")
axes.legend(frameon=False)
save(figure, "gadget_bound.png")

place = folder() / "gadget_instance"
made = inst.save(u, v, place)
print(load(place).verify())
print(f"{place}: opt = {made.opt_lower} = {inst.L} * {inst.D}, proved without a solver")
