"""Private optimisation of a coordinate objective: the exponential mechanism on its quasi-concave envelope."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from geomdp.core.errors import check_beta
from geomdp.learners.blocks import Block, envelope, exponential, exponential_excess
from geomdp.privacy.sampler import Sampler


def quasi_concave(blocks: Sequence[Block], epsilon: Fraction, sampler: Sampler) -> int:
    """Draw a rank of large score, epsilon-DP on all inputs.

    Proof note. Precondition: the score of each element changes by at most 1 when one record is replaced; no
    promise on the data. The envelope keeps this bound, whatever the data
    (:func:`geomdp.learners.blocks.envelope`), and the exponential mechanism on a score of sensitivity 1 is
    epsilon-DP. Conclusion: pure epsilon-DP, also where the data are not realizable.

    Utility. Where the objective is quasi-concave, as it is for realizable prefix states (paper, Lemma 8.3),
    the envelope is the objective: the score drawn is at least max - E with probability at least 1 - beta,
    E = :func:`quasi_concave_error`. Elsewhere only a large envelope is promised: the element then lies
    between two elements of large score.

    It stands in for the optimiser of the paper's Proposition 8.6: its error grows with the logarithm of the
    domain's size, but has no other factor, and needs no delta.

    Args:
        blocks: the objective over the ranks of a domain.
        epsilon: the privacy loss.
        sampler: the source of randomness.

    Returns:
        The rank.

    Example:
        >>> from geomdp.privacy.sampler import SimSampler
        >>> peak = [Block(0, 2**60, 3), Block(2**60 + 1, 2**60 + 9, 900), Block(2**60 + 10, 2**61, 5)]
        >>> 0 <= quasi_concave(peak, Fraction(1), SimSampler(1)) - 2**60 - 1 < 9
        True
    """
    return exponential(envelope(blocks), epsilon, sampler)


def quasi_concave_error(size: int, epsilon: Fraction, beta: Fraction) -> int:
    """Return the E of :func:`quasi_concave` for a domain of this size: about (2/epsilon) ln(size/beta).

    Raises:
        ArgumentError: unless ``beta`` is a number with 0 < beta < 1.

    Example:
        >>> quasi_concave_error(2**66, Fraction(1), Fraction(1, 20))
        98
    """
    return exponential_excess(size, epsilon, check_beta(beta))
