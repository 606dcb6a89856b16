"""Blocks of independent compiled work on a few threads, with progress, a deadline and a working Ctrl-C."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

Progress = Callable[[float], None]


def workers() -> int:
    """Return how many processors this process may use, at least 1."""
    affinity = getattr(os, "sched_getaffinity", None)
    return max(1, len(affinity(0)) if affinity else os.cpu_count() or 1)


def blocks(count: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the half-open ranges of at most ``size`` numbers that make up range(count), in order.

    Example:
        >>> list(blocks(5, 2))
        [(0, 2), (2, 4), (4, 5)]
    """
    for first in range(0, count, size):
        yield first, min(first + size, count)


def spread(
    work: Callable[[int, int], None],
    count: int,
    size: int,
    *,
    progress: Progress | None = None,
    deadline: float | None = None,
    enough: Callable[[], bool] | None = None,
    threads: int | None = None,
) -> bool:
    """Run ``work(first, last)`` for every block of range(count) and return whether all of them ran.

    Args:
        work: handles one range; it must release the interpreter lock to gain from threads.
        count: number of items.
        size: items per block.
        progress: told the fraction done, in the calling thread.
        deadline: a :func:`time.monotonic` instant after which no further block starts.
        enough: asked between blocks, in the calling thread; once it says True no further block starts.
        threads: at most this many; by default one per processor.

    Example:
        >>> seen = []
        >>> spread(lambda first, last: seen.extend(range(first, last)), 5, 10), seen
        (True, [0, 1, 2, 3, 4])
    """
    ranges = blocks(count, size)
    threads = min(threads or workers(), -(-count // size))

    def stop() -> bool:
        late = deadline is not None and time.monotonic() >= deadline
        return late or (enough is not None and enough())

    if threads <= 1:
        for first, last in ranges:
            if stop():
                return False
            work(first, last)
            _tell(progress, last, count)
        return True
    return _on_threads(work, ranges, threads, stop, lambda done: _tell(progress, done, count))


def _on_threads(
    work: Callable[[int, int], None],
    ranges: Iterator[tuple[int, int]],
    threads: int,
    stop: Callable[[], bool],
    tell: Callable[[int], None],
) -> bool:
    running: dict[Future[None], int] = {}
    done, complete = 0, True
    with ThreadPoolExecutor(threads) as pool:
        try:
            for first, last in ranges:
                if stop():
                    complete = False
                    break
                running[pool.submit(work, first, last)] = last - first
                if len(running) > threads:
                    done += _collect(running)
                    tell(done)
            while running:
                done += _collect(running)
                tell(done)
        except BaseException:
            for future in running:
                future.cancel()
            raise
    return complete


def _collect(running: dict[Future[None], int]) -> int:
    finished, _ = wait(running, return_when=FIRST_COMPLETED)
    total = 0
    for future in finished:
        total += running.pop(future)
        future.result()
    return total


def _tell(progress: Progress | None, done: int, count: int) -> None:
    if progress is not None:
        progress(done / count)
