"""Weight space: low-error regions, hulls and the plane between them, for two features and for one."""

import numpy as np
from figures import flights, penguins, save
from matplotlib import pyplot as plt

from geomdp import Domain, Sample
from geomdp.geometry.arrangement import dichotomies
from geomdp.plot.dual import arrangement

alice, bob = flights("different_jfk"), flights("different_lga")
figure, axes = plt.subplots(figsize=(6.6, 7.2))
drawn = arrangement(dichotomies(alice.domain, generic=True), alice, bob, ax=axes)
axes.set_title(
    "Two airports, two scorecards: each cell is one line in the plane of delays\n" + axes.get_title()
)
save(figure, "separation_flights.png")

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 6.6))
alice = penguins("adelie_gentoo_a", "Gentoo")
W = dichotomies(alice.domain, generic=True)
for axes, positive, k, what in (
    (left, "Gentoo", 3, "Same labels"),
    (right, "Adelie", None, "Opposite labels"),
):
    drawn = arrangement(W, alice, penguins("adelie_gentoo_b", positive), k=k, view="sphere", ax=axes)
    axes.set_title(f"{what}: {axes.get_title()}")
figure.suptitle("Penguins: all 2,566 labellings of an 8 × 8 grid by a line, on the sphere of weights")
save(figure, "regions_penguins.png")

line = Domain(np.array([[x, 1] for x in range(-3, 4)]))
low = Sample.from_counts(line, [0, 0, 1, 0, 1, 8, 9], [9, 8, 7, 9, 8, 1, 0])
high = Sample.from_counts(line, [0, 0, 8, 9, 9, 8, 9], [9, 8, 1, 0, 0, 1, 0])
figure, axes = plt.subplots(figsize=(5.6, 6.1))
arrangement(dichotomies(line, generic=True), low, high, ax=axes)
axes.set_title("One feature: cells are sectors, numbered by mistakes\n" + axes.get_title())
save(figure, "arrangement_line.png")
