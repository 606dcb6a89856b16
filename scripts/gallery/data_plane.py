"""The data plane: counts by label, the best line, and the records that it gets wrong."""

from figures import flights, penguins, save
from matplotlib import pyplot as plt

from geomdp import opt_halfspace
from geomdp.plot.plane import data_plane

figure, axes = plt.subplots(1, 2, figsize=(11, 6.2))
for ax, grid in zip(axes, ("grid8", "grid"), strict=True):
    sample = penguins("adelie_chinstrap", "Adelie", grid)
    best = opt_halfspace(sample)
    drawn = data_plane(sample, best.classifier, labels=("Adelie", "Chinstrap"), ax=ax)
    ax.set_xlabel("bill length (mm)")
    ax.set_ylabel("bill depth (mm)")
    levels = sample.domain.features[0].levels
    ax.set_title(f"{levels} × {levels} levels: the best line makes {drawn.mistakes} mistakes")
figure.suptitle("Penguins: one cell per pair of levels, and the best line")
save(figure, "data_penguins.png")

figure, axes = plt.subplots(1, 3, figsize=(14, 5.8))
parties = {"JFK": flights("different_jfk"), "LGA": flights("different_lga")}
pooled = parties["JFK"] + parties["LGA"]
for ax, (name, sample) in zip(axes, {**parties, "pooled": pooled}.items(), strict=True):
    drawn = data_plane(sample, opt_halfspace(sample).classifier, labels=("disrupted", "not"), ax=ax)
    ax.set_xlabel("departure delay (min)")
    ax.set_ylabel("arrival delay (min)")
    ax.set_title(f"{name}: {sample.n:,} flights, {drawn.mistakes:,} mistakes")
figure.suptitle("Each airport's labels follow a line of its own; no line fits both")
save(figure, "data_flights.png")
