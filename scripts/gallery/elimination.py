"""Halfspace elimination on the shipped penguins, round by round: one pair that fits, one that conflicts."""

from figures import penguins, save
from matplotlib import pyplot as plt

from geomdp.geometry.arrangement import dichotomies
from geomdp.plot import artists as art
from geomdp.plot.rounds import elimination
from geomdp.privacy.sampler import SimSampler
from geomdp.testers.base import Setting
from geomdp.testers.elimination import HalfspaceElimination
from geomdp.testers.replay import replay

EPSILON, SEED = 8, 1
alice = penguins("adelie_gentoo_a", "Gentoo")
cases = {
    "match": ("Both call Gentoo +", penguins("adelie_gentoo_b", "Gentoo")),
    "far": ("Bob calls Adelie + instead", penguins("adelie_gentoo_b", "Adelie")),
}
W = dichotomies(alice.domain, generic=True)
for name, (what, bob) in cases.items():
    tester = HalfspaceElimination(Setting(alice.domain, alice.n, bob.n, EPSILON))
    finding = tester.converse(alice, bob, *SimSampler(SEED).spawn(2))
    run = replay(tester, finding.transcript)
    columns = min(len(run.steps), 5)
    rows = -(-len(run.steps) // columns)
    size = 3.0 if columns > 2 else 4.2
    shape = (size * columns, (size + 0.5) * rows + 1.5)
    figure, axes = plt.subplots(rows, columns, figsize=shape, squeeze=False)
    drawn = elimination(run, W, alice, bob, axes=axes)
    spent = ", ".join(f"{party} {float(loss):.2f}" for party, loss in run.steps[-1].spent.items())
    figure.suptitle(
        f"{what}: {run.verdict}\nsimulated, ε = {EPSILON} each, t = {tester.resolution}; spent: {spent}"
    )
    colours = art.COLOURS
    entries = [
        art.patch_entry(colours["gone"], "gone before"),
        art.patch_entry(colours["Alice"], "dropped by Alice", alpha=0.55),
        art.patch_entry(colours["Bob"], "dropped by Bob", alpha=0.55),
    ]
    figure.legend(handles=entries, loc="outside lower center", ncols=3, frameon=False)
    bar = figure.colorbar(drawn[0].cells, ax=axes, location="bottom", shrink=0.5, aspect=40)
    bar.set_label("candidates left: mistakes on all records")
    save(figure, f"elimination_{name}.png")
