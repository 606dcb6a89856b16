"""Containers of the penguins' 2,566 candidates: cones that share one, and one with a halfspace it covers."""

from figures import penguins, save
from matplotlib import pyplot as plt

from geomdp.geometry.arrangement import dichotomies
from geomdp.geometry.containers import containers
from geomdp.plot.containers import cones, container

W = dichotomies(penguins("adelie_gentoo", "Gentoo").domain, generic=True).weights
family = containers(W, ratio=0.75, method="cones")
z = next(z for z in ((1, 2, 12), (-1, -2, -12)) if (W @ z > 0).sum() <= family.most)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 6.9))
cones(family, ax=left)
left.set_title(f"The sphere of halfspaces: {left.get_title()}")
container(family, family.covering(z), z=z, ax=right)
right.set_title(f"The sphere of weights. {right.get_title()}")
figure.suptitle("Containers: every halfspace of at most half the points fits into one of few sets of 75 %")
save(figure, "containers.png")
