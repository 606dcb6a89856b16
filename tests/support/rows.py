"""Weighted rows for the certified optima: degenerate small instances, noisy large ones, and an oracle."""

from __future__ import annotations

import numpy as np


def degenerate(rng, *, most_d=4, most=8):
    """Return (X, a, b): few points rich in ties, repeats, antipodes, multiples, low rank and zero rows."""
    d = int(rng.integers(1, most_d + 1))
    B, n = int(rng.integers(1, 4)), int(rng.integers(0, most + 1 - max(0, d - 3)))
    X = rng.integers(-B, B + 1, (n, d))
    if n > 2 and rng.random() < 0.5:
        X[n // 2] = -X[0]
    if n > 3 and rng.random() < 0.5:
        X[1] = 2 * X[0]
    if n > 4 and rng.random() < 0.3:
        X[2] = X[0] + X[3]
    if n and rng.random() < 0.1:
        X[-1] = 0
    if d > 1 and rng.random() < 0.2:
        X[:, 1] = X[:, 0]
    share = rng.choice([0.5, 0.5, 0.0, 1.0])
    a = rng.integers(0, 4, n) * (rng.random(n) < share)
    b = rng.integers(0, 4, n) * (rng.random(n) < 1.1 - share)
    if rng.random() < 0.1:
        a = a * 10**9
    return X.astype(np.int64), a.astype(np.int64), b.astype(np.int64)


def flipped(n, d, noise, seed, scale=1000):
    """Return (X, a, b): n normal points with a bias column, labelled by a halfspace, some labels flipped."""
    rng = np.random.default_rng(seed)
    X = np.c_[np.rint(rng.normal(size=(n, d - 1)) * scale).astype(np.int64), np.full(n, scale)]
    w = rng.normal(size=d)
    w[-1] *= 0.3
    y = np.where(X @ w >= 0, 1, -1)
    y = np.where(rng.random(n) < noise, -y, y)
    return X, (y > 0).astype(np.int64), (y < 0).astype(np.int64)


def noisy_grid(shape, seed, *, signal=0.0, noise=3.0):
    """Return (X, a, b): a grid with bias, two-sided geometric noise, perhaps a linear signal, as counts."""
    rng = np.random.default_rng(seed)
    axes = np.meshgrid(*[np.arange(s) for s in shape], indexing="ij")
    X = np.stack([axis.ravel() for axis in axes] + [np.ones(int(np.prod(shape)), dtype=np.int64)], axis=1)
    p = 1 - np.exp(-1 / noise)
    z = rng.geometric(p, len(X)) - rng.geometric(p, len(X))
    if signal:
        side = (X[:, :-1] - np.array(shape) / 2) @ rng.normal(size=len(shape)) >= 0
        z = z + np.where(side, 1, -1) * rng.poisson(signal, len(X))
    return X, np.maximum(z, 0), np.maximum(-z, 0)


def pinned(d, n, seed=0, *, pin=50, flip=0.005):
    """Return (X, a, b): 0 <= w_i <= 8 w_0 pinned by heavy rows, and n light rows of two or three terms."""
    rng = np.random.default_rng(seed)
    star = np.r_[1, rng.integers(0, 9, d - 1)]
    X, a, b = [np.eye(d, dtype=np.int64)[0], -np.eye(d, dtype=np.int64)[0]], [4 * pin, 0], [0, 4 * pin]
    for i in range(1, d):
        unit = np.eye(d, dtype=np.int64)[i]
        X += [unit, 8 * np.eye(d, dtype=np.int64)[0] - unit]
        a, b = [*a, pin, pin], [*b, 0, 0]
    for _ in range(n):
        row = np.zeros(d, dtype=np.int64)
        terms = rng.choice(np.arange(1, d), int(rng.integers(2, 4)), replace=False)
        row[terms] = rng.choice([-1, 1], len(terms))
        row[0] = -int(row[1:] @ star[1:]) - int(rng.integers(-2, 3))
        right = bool(row @ star >= 0) ^ bool(rng.random() < flip)
        X.append(row)
        a, b = [*a, int(right)], [*b, int(not right)]
    return np.array(X), np.array(a), np.array(b)


def least_by_faces(Z, strict, W):
    """Return the least cost of rows over all w, by an independent recursion over faces in Python integers."""
    Z = [tuple(map(int, z)) for z in Z]
    return _least(Z, [bool(s) for s in strict], [int(v) for v in W])


def _least(Z, s, W):
    nothing = sum(w for w, strict in zip(W, s, strict=True) if strict)
    alive = [i for i, z in enumerate(Z) if any(z)]
    if not alive:
        return nothing
    base = sum(W[i] for i in range(len(Z)) if not any(Z[i]) and s[i])
    r = len(Z[0])
    if r == 1:
        sides = (sum(W[i] for i in alive if side * Z[i][0] < 0) for side in (1, -1))
        return min(nothing, base + min(sides))
    best = nothing
    for i in alive:
        P = _shadow(Z, Z[i])
        best = min(best, _least(P, s, W))
        best = min(best, _beside(Z, P, Z[i], s, W, r) + base)
    return best


def _shadow(Z, z):
    k = next(c for c in range(len(z)) if z[c])
    turn = 1 if z[k] > 0 else -1
    return [tuple(turn * (z[k] * y[c] - z[c] * y[k]) for c in range(len(z)) if c != k) for y in Z]


def _beside(Z, P, z, s, W, r):
    """Return the least cost of the nonzero rows next to the plane of z."""
    rest = [j for j in range(len(Z)) if any(P[j])]
    flat = [j for j in range(len(Z)) if any(Z[j]) and not any(P[j])]
    inner = _generic([P[j] for j in rest], [s[j] for j in rest], [W[j] for j in rest], r - 1)
    along = [sum(p * q for p, q in zip(Z[j], z, strict=True)) for j in flat]
    sides = (sum(W[j] for j, v in zip(flat, along, strict=True) if side * v < 0) for side in (1, -1))
    return inner + min(sides)


def _generic(Z, s, W, r):
    if not Z:
        return 0
    if r == 1:
        return min(sum(w for z, w in zip(Z, W, strict=True) if side * z[0] < 0) for side in (1, -1))
    return min(_beside(Z, _shadow(Z, z), z, s, W, r) for z in Z)
