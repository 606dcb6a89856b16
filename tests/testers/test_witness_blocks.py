"""Laws of witness blocks: order decides the promise, neighbours stay neighbours, tries count rightly."""

from itertools import combinations_with_replacement

import pytest

from geomdp.core.domain import Domain
from geomdp.core.sample import Sample
from geomdp.opt.threshold import opt_threshold
from geomdp.privacy.audit import neighbour_pairs
from geomdp.testers.witness_blocks import Block, trie_bits, witness_block

M = 4
DOMAIN = Domain.line(M)


def members(block):
    """Return the members of a block in ascending order."""
    return [block.member(i) for i in range(block.size)]


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("trim", [0, 1])
@pytest.mark.parametrize("size", [1, 2])
def test_order_decides_the_promise(size, trim, padded):
    """An opt <= t0 puts all negatives below all positives, opt >= 2 (k + t0) - 1 the other way round."""
    n = size + trim + 1
    for a in combinations_with_replacement(range(M), n):
        for b in combinations_with_replacement(range(M), n):
            S_A, S_B = Sample.from_cells(DOMAIN, a, [-1] * n), Sample.from_cells(DOMAIN, b, [1] * n)
            first, second = (
                members(witness_block(S, label, size, trim, padded)) for S, label in ((S_A, -1), (S_B, 1))
            )
            opt = opt_threshold(S_A, S_B).upper
            if opt <= trim:
                assert first[-1] < second[0]
            if opt >= 2 * (size + trim) - 1:
                assert first[0] > second[-1]


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("label", [-1, 1])
@pytest.mark.parametrize(("size", "trim"), [(1, 0), (2, 0), (2, 1), (3, 2), (5, 1)])
def test_neighbours_stay_neighbours(size, trim, label, padded):
    """Replacing one record, also by one of the other label, replaces at most one member of the block."""
    records = [(x, y) for x in range(3) for y in (-1, 1)]
    domain = Domain.line(3)

    def block_of(data):
        S = Sample.from_cells(domain, [x for x, _ in data], [y for _, y in data])
        block = witness_block(S, label, size, trim, padded)
        assert block.size == size
        assert block.bits == trie_bits(3, padded)
        assert 0 <= block.values[0] <= block.values[-1] < 2**block.bits
        return members(block)

    known = {}
    for pair in neighbour_pairs(records, 3):
        first, second = (known.setdefault(data, block_of(data)) for data in pair)
        rest = list(second)
        common = sum(x in rest and not rest.remove(x) for x in first)
        assert common >= size - 1


@pytest.mark.parametrize("bits", [1, 3])
def test_block_counts(bits):
    """Counts, members and prefixes agree with the list of members."""
    for data in combinations_with_replacement(range(1 << bits), 4):
        block = Block.of(list(data[::-1]), bits)
        assert members(block) == list(data)
        assert [block.count_below(x) for x in range(10)] == [sum(y < x for y in data) for x in range(10)]
        for shift in range(bits + 1):
            expected = {}
            for y in data:
                expected[y >> shift] = expected.get(y >> shift, 0) + 1
            assert list(block.prefixes(shift)) == list(expected.items())


def test_ranks_beyond_64_bits():
    """Ranks of any size are kept exactly, padding lies strictly outside the domain."""
    m = 2**1024
    S = Sample.from_cells(Domain.line(m), [m - 1, m - 2, 5], [-1, -1, 1])
    assert witness_block(S, -1, 2, 0, False).values == (2 * m - 3, 2 * m - 1)
    assert trie_bits(m, False) == 1025
    above = witness_block(S, 1, 3, 0, True)
    assert above.values == (12, 2 * (m + 1))
    assert above.below == (0, 1, 3)
    assert witness_block(S, -1, 4, 1, True).values == (1, 2 * (m - 1) + 1)
    assert above.values[-1] < 2**above.bits
