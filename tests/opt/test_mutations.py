"""A thousand corrupted certificates: each is refused, unless it is another valid proof of a true claim."""

from dataclasses import replace

import numpy as np
import pytest
from support.rows import flipped, noisy_grid

from geomdp import CertificateError, Halfspace
from geomdp.opt.certificate import ARRAYS
from geomdp.opt.portfolio import certified_optimum
from geomdp.opt.verifier import verify_points


def mutate_array(array, rng):
    """Return a copy with one entry changed, dropped, doubled or swapped with another."""
    flat = [int(v) for v in array.ravel()]
    how = int(rng.integers(0, 6))
    place = int(rng.integers(0, len(flat)))
    if array.ndim == 1 and how == 0:
        del flat[place]
    elif array.ndim == 1 and how == 1:
        flat.insert(place, flat[place])
    elif how == 2:
        other = int(rng.integers(0, len(flat)))
        flat[place], flat[other] = flat[other], flat[place]
    else:
        flat[place] = [flat[place] + 1, flat[place] - 1, int(rng.integers(-5, 200)), -flat[place]][
            int(rng.integers(0, 4))
        ]
    if array.dtype == np.uint8:
        flat = [v % 256 for v in flat]
    changed = np.empty(len(flat), dtype=object)
    changed[:] = flat
    return changed.reshape(array.shape) if array.ndim > 1 else changed


def mutate(certificate, rng):
    """Return a certificate that differs from the given one in one place of its proof or its claims."""
    kind = rng.random()
    if kind < 0.05:
        return replace(certificate, lower=certificate.lower + int(rng.integers(1, 4)))
    if kind < 0.1:
        w = list(certificate.classifier.weights)
        w[int(rng.integers(0, len(w)))] *= -1
        return replace(certificate, classifier=Halfspace(tuple(w)))
    lemmas = list(certificate.lemmas)
    at = int(rng.integers(0, len(lemmas)))
    lemma = lemmas[at]
    names = [name for name in ARRAYS[lemma.kind] if lemma.arrays[name].size]
    if kind < 0.15 or not names:
        lemmas[at] = replace(lemma, bound=lemma.bound + int(rng.choice([-2, -1, 1, 2])))
    elif kind < 0.2 and lemma.rows is not None:
        lemmas[at] = replace(lemma, rows=mutate_array(lemma.rows, rng).astype(np.int64))
    else:
        name = str(rng.choice(names))
        array = mutate_array(lemma.arrays[name], rng)
        stored = np.uint8 if ARRAYS[lemma.kind][name] == "|u1" else np.int64
        big = ARRAYS[lemma.kind][name] == "big" and any(abs(int(v)) >= 2**62 for v in array.flat)
        lemmas[at] = replace(lemma, arrays={**lemma.arrays, name: array if big else array.astype(stored)})
    return replace(certificate, lemmas=tuple(lemmas))


def instances():
    """Return certificates with every kind of lemma and stream."""
    dropped = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 2], [2, 1, 3]])
    return [
        (flipped(50, 4, 0.2, 1), "boxes"),
        (noisy_grid((4, 4, 4), 3), "boxes"),
        (flipped(60, 5, 0.15, 3), "branch"),
        (flipped(16, 3, 0.3, 4), "faces"),
        ((np.vstack([dropped, -dropped, 3 * dropped + 1]), np.arange(12) % 3, np.arange(12) % 2), "plane"),
    ]


@pytest.mark.parametrize("which", range(5))
def test_corruptions(which):
    """250 corruptions of a certificate: refused with a reason, or true claims under a valid proof."""
    data, method = instances()[which]
    solved = certified_optimum(*data, method=method)
    assert solved.lower == solved.upper
    rng = np.random.default_rng(which)
    refused = 0
    for _ in range(250):
        bad = mutate(solved.certificate, rng)
        try:
            assert verify_points(bad, *data)
        except CertificateError:
            refused += 1
        else:
            assert bad.lower <= solved.upper <= bad.upper
    assert refused >= 150
