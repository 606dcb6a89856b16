"""Both parties of a scripted tester on their own, joined by frames alone."""

from __future__ import annotations

from collections import deque

from geomdp.core.sample import Sample
from geomdp.privacy.sampler import SimSampler
from geomdp.protocol.transcript import PARTIES


def assert_same_apart(tester):
    """Assert that two separate sessions and one common run give the same transcript and verdict."""
    setting = tester.setting
    domain, half = setting.domain, setting.domain.m // 2
    made = {}
    for name, rank, label in (("Alice", half, -1), ("Bob", half + 1, 1)):
        n = setting.n_alice if name == "Alice" else setting.n_bob
        made[name] = Sample.from_cells(domain, [rank] * n, [label] * n)
    together = tester.converse(made["Alice"], made["Bob"], SimSampler(1), SimSampler(2))
    sessions = {name: tester.attend(name, made[name], SimSampler(1 + i)) for i, name in enumerate(PARTIES)}
    frames = {name: deque() for name in PARTIES}  # what each is to receive
    found, wanted = {}, {name: next(session) for name, session in sessions.items()}
    while len(found) < 2:
        for name, other in (PARTIES, PARTIES[::-1]):
            while name not in found and (wanted[name] is not None or frames[name]):
                try:
                    if wanted[name] is None:
                        wanted[name] = sessions[name].send(frames[name].popleft())
                    else:
                        frames[other].append(wanted[name])
                        wanted[name] = next(sessions[name])
                except StopIteration as end:
                    found[name] = end.value
    assert found["Alice"].transcript == found["Bob"].transcript == together.transcript
    assert found["Alice"].verdict == found["Bob"].verdict == together.verdict
