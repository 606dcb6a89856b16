"""The paper's constants as they are written: what the component-by-component learner needs by its theorems.

Halfspaces in d features on [-X, X]^d, k = d + 1 components, points perturbed to general position:

    alpha/2, beta/2, delta/2;   tau = alpha/(80 k),   beta' = beta/(8 k),   eps_A = 4,
    n = 12 e^9 sqrt(k ln(4/delta)) m / epsilon                       (paper, Algorithm 2 and Theorem 8.5),

where m is the largest of: the all-pairs generalisation bound at 20 tau (paper, Theorem 3.9); the
relabelling's (paper, Corollary 3.13) with Sauer's bound in place of its unspecified constant; and the
oracle's sample requirement. The coordinate domains depend on n through the perturbation, so n is a fixed
point.
"""

from __future__ import annotations

import math

from geomdp.core.errors import check_choice

_E9 = math.e**9


def stated_multiplier(k: int, epsilon: float, delta: float) -> float:
    """Return n/m = 12 e^9 sqrt(k ln(2/delta)) / epsilon (paper, Algorithm 2)."""
    return 12 * _E9 * math.sqrt(k * math.log(2 / delta)) / epsilon


def stated_size(  # noqa: PLR0917 - a theorem's parameters
    d: int,
    radius: int,
    epsilon: float,
    delta: float,
    alpha: float,
    beta: float,
    oracle: str = "quasi-concave",
) -> int:
    """Return the number of records by the stated constants.

    Args:
        d: number of features.
        radius: X.
        epsilon: <= 1.
        delta: > 0.
        alpha, beta: error and failure probability.
        oracle: "quasi-concave" or "interior-point".

    Raises:
        ArgumentError: unless ``oracle`` is "quasi-concave" or "interior-point".

    Example:
        >>> 1e12 < stated_size(2, 512, 1, 1e-6, 0.1, 0.1) < 4e12
        True
    """
    check_choice("oracle", oracle, ("quasi-concave", "interior-point"))
    k = d + 1
    scale = stated_multiplier(k, epsilon, delta / 2)
    n = 1e9
    for _ in range(100):
        new = scale * _active(d, domain_bits(d, radius, n, beta / 2), alpha, beta, oracle)
        if abs(new - n) <= 1e-9 * n:
            break
        n = new
    return math.ceil(n)


def _active(d: int, bits: float, alpha: float, beta: float, oracle: str) -> float:
    """Return m, given log2 of the coordinate domains' size."""
    k, v = d + 1, d + 1
    tau, share = alpha / (80 * k), beta / (8 * k)
    generalise = 48 / (20 * tau) * (10 * v * math.log(48 * math.e / (20 * tau)) + math.log(5 / share))
    nats = bits * math.log(2)
    if oracle == "quasi-concave":
        need = ((2 / 4) * (nats + math.log(1 / share)) + d) / tau
    else:
        half, rho = share / 2, tau / 2
        t = (4 / 4) * (nats + math.log(1 / half)) + 1
        net = 4 / rho * math.log2(2 * t / half), 8 * (d + 1) / rho * math.log2(13 / rho)
        need = max(t * max(net), 2 * d / tau)
    m = max(generalise, need)
    for _ in range(50):  # one relabelling at loss 1 on 2m points: 2 (v ln(2 e m / v) + ln(1/beta')) / tau
        m = max(m, 2 / tau * (v * math.log(2 * math.e * m / v) + math.log(1 / share)))
    return m


def domain_bits(d: int, radius: int, n: float, beta: float) -> float:
    """Return log2 of the largest coordinate domain after perturbation and rescaling of n points.

    X' = 2 d^2 (d!)^(d^3) X^(d^6), Delta = d n^(d+1) / (2 beta), Delta' = 2 Delta X' sqrt(d), and the grid's
    radius is Delta' (X + Delta); the last coordinate has (2 (d d!)^d R^(d^2) + 1) 2 d! R^d pairs
    (paper, Appendix C).

    Example:
        >>> round(domain_bits(1, 512, 4e11, 0.05))
        346
    """
    ln = math.log2
    factorial = ln(math.factorial(d))
    margin = 1 + 2 * ln(d) + d**3 * factorial + d**6 * ln(radius)
    spread = ln(d) + (d + 1) * ln(n) - 1 - ln(beta)
    radius_bits = 1 + spread + margin + ln(d) / 2 + max(spread, ln(radius)) + 1e-9
    return 2 + d * (ln(d) + factorial) + d * d * radius_bits + factorial + d * radius_bits
