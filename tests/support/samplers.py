"""Samplers for tests: no noise, with a record of what was asked."""

from __future__ import annotations

import numpy as np


class RecordingSampler:
    """Adds no noise and remembers every request: the statistic and the scale of each release."""

    simulated = True

    def __init__(self):
        self.scales = []
        self.scores = []

    def discrete_laplace(self, scale, size):
        self.scales.append(scale)
        return np.zeros(size, dtype=np.int64)

    def permute_and_flip(self, scores, scale):
        self.scales.append(scale)
        self.scores.append([int(s) for s in scores])
        return int(np.argmax(scores))

    def permute_and_flip_groups(self, sizes, scores, scale):
        self.scales.append(scale)
        self.scores.append([int(s) for s in scores])
        return int(np.argmax(scores)), 0

    def uniform(self, bound):
        return 0
