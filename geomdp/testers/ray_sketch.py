r"""The ray sketch: tells opt = 0 from the largest possible opt, on any domain without the zero vector.

A homogeneous halfspace labels all points of a ray {c x : c > 0} alike. Let M = n_A + n_B be even, X without
0, and net(R) = (#records labelled +1) - (#records labelled -1) on ray R, both parties pooled.

Lemma (all labels). opt <= M/2. If opt = M/2, then net(R) = net(-R) <= 0 on every line, where net is 0 on a
ray that X does not meet. Proof. A w on no domain hyperplane and -w err on complementary records, so each of
them errs on exactly M/2. Move w across the hyperplane of one line: the mistakes change by
+-(net(R) - net(-R)), so the two are equal. Stop on that hyperplane alone: both rays are labelled +1, and
compared with a side the mistakes change by -net(R), which cannot be negative. []
(For dimension 1 the only such stop is w = 0; the argument is the same.)

So a line that X meets on one side has net 0, and with disjoint labels and n_A = n_B all nets vanish (they add
up to n_B - n_A). In contrast, if at most t0 records are wrong under some h, then after removing them every
ray holds one label only: the nets have total size at least M - 2 t0. Where X holds antipodal rays and labels
are mixed, nets on R and -R are subtracted. On a line with a correct negative record all correct records then
count with one sign, so the total size is at least N^- - 2 t0, N^- the number of records labelled -1. If
N^- < M/2, "all +" errs on fewer than M/2 records, so a noisy count of N^- decides that case.

Whether an integer vector is 0 or has a large total size is told by a signed bucket sketch
(:mod:`geomdp.testers.ray_sketch_plan`) whose errors do not depend on the domain at all.

Source: (paper, Algorithm 4, Theorem 4.9, Remark 4.10); sums of sizes over buckets, the answer to a noisy
sketch in place of two noisy sketches, exact noise laws, tolerance and unequal sizes are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from geomdp.core.domain import Domain
from geomdp.core.errors import ProtocolError
from geomdp.core.sample import Sample
from geomdp.opt.rows import distinct, primitive
from geomdp.privacy.budget import Budget
from geomdp.privacy.law import dlap_sum_sf
from geomdp.privacy.sampler import Sampler, noise_scale
from geomdp.protocol.party import Party, converse, integers, within
from geomdp.protocol.schema import Integer, Integers, Schema, symmetric
from geomdp.protocol.script import Script, Turn
from geomdp.protocol.transcript import PARTIES, Message, Transcript
from geomdp.testers.base import Finding, Setting
from geomdp.testers.histogram import LARGEST, scalar_schema
from geomdp.testers.ray_sketch_plan import design
from geomdp.testers.scripted import ScriptedTester

#: Where negatives must be counted: the share of the budget, and of the error in Far, that this takes.
COUNT_SHARE, COUNT_LEVEL = Fraction(1, 6), Fraction(1, 4)
#: Domains with more points are not sketched: each ray needs public coins.
MOST_POINTS = 2**20
#: A sketch of noise scale s needs about 100 s^2 records, and its search takes seconds for s in the hundreds.
#: Searches up to the first scale are always made, up to the second only with so many records per s^2.
QUICK_SCALE, MOST_SCALE, LEAST_RATIO = 30, 100, 25
#: Largest bucket sum, own or foreign; a bucket holds at most 2^50 records.
LARGEST_BUCKET = 2**52
#: At most 4096 foreign buckets, 2^50 own records and the noise: every magnitude is far below.
LARGEST_MAGNITUDE = 2**68


@dataclass(frozen=True)
class Rays:
    """The rays of a domain, or its lines with a sign for either ray.

    Attributes:
        index: (m,) coordinate of each domain point.
        sign: (m,) +1, or -1 for points on the second ray of a line.
        count: number of coordinates.
        antipodal: True if some line has domain points on both its rays.
    """

    index: NDArray[np.int64]
    sign: NDArray[np.int64]
    count: int
    antipodal: bool

    def nets(self, sample: Sample) -> NDArray[np.int64]:
        """Return the (count,) signed nets of a sample."""
        result = np.zeros(self.count, dtype=np.int64)
        np.add.at(result, self.index, self.sign * sample.net)
        return result


@lru_cache(maxsize=4)
def rays_of(domain: Domain, *, lines: bool) -> Rays:
    """Return the rays (or lines) through the points of a domain without the zero vector.

    Rays are compared by their primitive integer vectors: exact for entries of any size.

    Example:
        >>> D = Domain([[1, 2], [2, 4], [-1, -2], [0, 3]])
        >>> rays_of(D, lines=False).index.tolist(), rays_of(D, lines=True).sign.tolist()
        ([2, 2, 0, 1], [1, 1, -1, 1])
    """
    unit = primitive(domain.points)
    lead = np.argmax(np.asarray(unit != 0, dtype=bool), axis=1)
    sign = np.where(np.asarray(unit[np.arange(len(unit)), lead] > 0, dtype=bool), 1, -1).astype(np.int64)
    ray_first, ray = distinct(unit)
    line_first, line = distinct(unit * sign[:, None])
    antipodal = len(line_first) < len(ray_first)
    if lines:
        return Rays(line.astype(np.int64), sign, len(line_first), antipodal)
    return Rays(ray.astype(np.int64), np.ones_like(sign), len(ray_first), antipodal)


def holds_zero(domain: Domain) -> bool:
    """Return whether the zero vector, which every halfspace labels +1, is a domain point."""
    return not bool((domain.points != 0).any(axis=1).all())


def bucketed(nets: NDArray[np.int64], coins: NDArray[np.int64], buckets: int) -> list[int]:
    """Return the signed sums of the buckets that coins in 0..2B-1 assign: bucket c mod B, sign -1 from B on.

    Example:
        >>> bucketed(np.array([5, 7, 1]), np.array([1, 2, 6]), 4)
        [0, 5, 6, 0]
    """
    sums = np.zeros(buckets, dtype=np.int64)
    np.add.at(sums, coins % buckets, np.where(coins >= buckets, -nets, nets))
    return [int(v) for v in sums]


@dataclass(frozen=True)
class Course:
    """The public parameters of one run.

    Attributes:
        lines: whether coordinates are lines, with opposite signs on their rays.
        count: epsilon of each party's noisy count of negatives, 0 where none is taken.
        count_cut: fewer noisy negatives than this mean Match.
        least: an upper bound on the M/2 at which the guarantee begins.
        mass: total size of the pooled nets that a Match is sure to have (after the count).
        buckets, cut: the sketch.
    """

    lines: bool
    count: Fraction
    count_cut: int
    least: int
    mass: int
    buckets: int
    cut: int


class Sketcher(Party):
    """Either party of the ray sketch.

    Privacy note. Precondition: coins, course and the counterpart's message are fixed. Replacing one record
    lowers one coordinate of the nets by 1 in size and raises another, so at most two bucket sums move, each
    by 1, or one moves by 2:

    * sketch: the vector of bucket sums moves by at most 2 in L1; discrete Laplace noise of scale >= 2/e in
      every bucket costs e.
    * magnitude: sum_b |y_b + s_b| for a fixed vector y moves by at most 2 (each term is 1-Lipschitz); scale
      >= 2/e costs e. y is bounded by public numbers before the records are touched.
    * negatives: the count moves by at most 1; scale >= 1/e costs e.

    Conclusion: by composition each party's messages are epsilon-DP, whatever the coins and the counterpart's
    messages. Coins that the counterpart chose badly can only spoil the verdict.
    """

    def coins(self, transcript: Transcript, rays: Rays, course: Course) -> Message:
        """Publish fair coins, independent of all records: a number in 0..2B-1 for each coordinate."""
        width = course.buckets.bit_length()
        drawn = self.sampler.uniform(1 << (width * rays.count))
        octets = np.frombuffer(drawn.to_bytes((width * rays.count + 7) // 8, "little"), dtype=np.uint8)
        bits = np.unpackbits(octets, bitorder="little")[: width * rays.count].reshape(-1, width)
        coins = (bits @ (1 << np.arange(width))).tolist()
        return converse(transcript, self.release("public coins", {"coins": coins}, Fraction(0)))

    def sketch(self, transcript: Transcript, rays: Rays, course: Course, epsilon: Fraction) -> Message:
        """Release the noisy bucket sums."""
        self.reserve(epsilon)
        sums = self._sums(transcript, rays, course)
        noise = self.sampler.discrete_laplace(noise_scale(2, epsilon), course.buckets)
        noisy = within((a + int(b) for a, b in zip(sums, noise, strict=True)), LARGEST_BUCKET)
        return converse(transcript, self.release("sketch", {"buckets": noisy}, epsilon))

    def magnitude(self, transcript: Transcript, rays: Rays, course: Course, epsilon: Fraction) -> Message:
        """Release the noisy sum of the sizes of the pooled bucket sums."""
        self.reserve(epsilon)
        y = integers(transcript.last("sketch"), "buckets", course.buckets, LARGEST_BUCKET)
        sums = self._sums(transcript, rays, course)
        total = sum(abs(a + b) for a, b in zip(y, sums, strict=True))
        noise = int(self.sampler.discrete_laplace(noise_scale(2, epsilon), 1)[0])
        payload = {"value": within([total + noise], LARGEST_MAGNITUDE)[0]}
        return converse(transcript, self.release("magnitude", payload, epsilon))

    def negatives(self, transcript: Transcript, course: Course) -> Message:
        """Release the noisy number of records labelled -1."""
        self.reserve(course.count)
        count = int(self.sample.negatives.sum())
        noise = int(self.sampler.discrete_laplace(noise_scale(1, course.count), 1)[0])
        payload = {"value": within([count + noise], LARGEST)[0]}
        return converse(transcript, self.release("negatives", payload, course.count))

    def _sums(self, transcript: Transcript, rays: Rays, course: Course) -> list[int]:
        message = transcript.last("public coins")
        if not coins_schema(rays, course).fits(message, message.sender):
            raise ProtocolError(f"Message 'public coins' must hold {rays.count} coins of the sketch.")
        coins = np.array(message.payload["coins"], dtype=np.int64)
        return bucketed(rays.nets(self.sample), coins, course.buckets)


def coins_schema(rays: Rays, course: Course) -> Schema:
    """Return the public form of the coins."""
    return Schema("public coins", {"coins": Integers(rays.count, 0, 2 * course.buckets - 1)}, Fraction(0))


class RaySketch(ScriptedTester):
    """Tells opt <= t0 from opt = (n_A + n_B)/2, the largest possible value, whatever the domain.

    Alice publishes coins and her noisy sketch; Bob answers with the noisy magnitude of the pooled one. Far
    iff it is below the cut. Where antipodal rays and mixed labels meet, both first release noisy counts of
    negatives, and few of them mean Match.

    The resolution is (n_A + n_B)/2 from the least number of records on at which both errors are at most beta;
    below it, that number.

    Args:
        setting: the public setting, halfspaces.

    Example:
        >>> D = Domain.grid([("x", 0, 1, 1000), ("y", 0, 1, 1000)])
        >>> RaySketch(Setting(D, 350, 350, Fraction(1))).resolution
        350
        >>> RaySketch(Setting(D, 100, 100, Fraction(1))).feasible
        False
    """

    name = "ray-sketch"
    guarantee = "analytic"

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._course: Course | None = None
        self.reason = _obstacle(setting)
        if self.reason:
            return
        course = _course(setting)
        if course is None:
            self.reason = "beta is too small for a sketch of at most 4096 buckets"
            return
        self._course = course
        half = (setting.n_alice + setting.n_bob) // 2
        self.resolution = max(half, course.least)
        if half < course.least:
            self.reason = f"resolution n is guaranteed from n = {course.least} on, not at n = {half}"

    @property
    def feasible(self) -> bool:
        """True if both errors are certified at these numbers of records, and opt can reach (n_A + n_B)/2."""
        half = (self.setting.n_alice + self.setting.n_bob) // 2
        return super().feasible and self._course is not None and half >= self._course.least

    def _check_usable(self) -> None:
        if self._course is None:
            super()._check_usable()

    def party(self, name: str, sample: Sample, sampler: Sampler) -> Sketcher:
        """Return either party."""
        return Sketcher(name, sample, sampler, Budget(self.setting.epsilon))

    def script(self, transcript: Transcript) -> Script[Finding]:
        """Counts of negatives where they matter; then coins and sketch of Alice, and Bob's answer."""
        course = self._planned()
        rays = rays_of(self.setting.domain, lines=course.lines)
        epsilon, few = self.setting.epsilon - course.count, False
        if course.count:
            total = 0
            for name in PARTIES:
                schema = scalar_schema("negatives", "value", course.count)
                message = yield Turn(name, schema, lambda party: party.negatives(transcript, course))
                total += int(message.payload["value"])
            few = total < course.count_cut
        schema = coins_schema(rays, course)
        yield Turn("Alice", schema, lambda party: party.coins(transcript, rays, course))
        schema = Schema("sketch", {"buckets": symmetric(course.buckets, LARGEST_BUCKET)}, epsilon)
        yield Turn("Alice", schema, lambda party: party.sketch(transcript, rays, course, epsilon))
        schema = Schema("magnitude", {"value": Integer(-LARGEST_MAGNITUDE, LARGEST_MAGNITUDE)}, epsilon)
        answer = yield Turn("Bob", schema, lambda party: party.magnitude(transcript, rays, course, epsilon))
        match = few or int(answer.payload["value"]) >= course.cut
        return Finding(verdict="Match" if match else "Far", transcript=transcript)

    def _planned(self) -> Course:
        if self._course is None:
            raise ProtocolError(f"The ray sketch cannot run: {self.reason}.")
        return self._course

    def opening(self) -> dict[str, object]:
        """Return the public parameters of a run."""
        course = self._planned()
        return {
            **self.facts(),
            "lines": course.lines,
            "buckets": course.buckets,
            "cut": course.cut,
            "count": str(course.count),
            "count_cut": course.count_cut,
        }


def _obstacle(setting: Setting) -> str:
    """Return why the lemma does not apply, or ""."""
    domain = setting.domain
    if setting.classes != "halfspaces":
        return "the ray sketch is a tester of halfspaces"
    if domain.m > MOST_POINTS:
        return "more than 2^20 points would need public coins"
    if (setting.n_alice + setting.n_bob) % 2:
        return "n_A + n_B must be even: opt = (n_A + n_B)/2 is what the sketch detects"
    if holds_zero(domain):
        return "the domain holds the zero vector, which every halfspace labels +1"
    scale = noise_scale(2, setting.epsilon)
    few = setting.n_alice + setting.n_bob < LEAST_RATIO * scale**2
    if scale > (QUICK_SCALE if few else MOST_SCALE):
        needed = f"{float(50 * scale**2):.2g}"
        return f"a sketch at this epsilon is not searched for: it needs about {needed} records each"
    return ""


def _course(setting: Setting) -> Course | None:
    """Return the parameters of a run, or None if no sketch has so small errors."""
    total, t0, epsilon = setting.n_alice + setting.n_bob, setting.tolerance, setting.epsilon
    even = setting.labels == "disjoint" and setting.n_alice == setting.n_bob
    antipodal = rays_of(setting.domain, lines=False).antipodal
    counted = antipodal and setting.labels == "mixed"
    count = COUNT_SHARE * epsilon if counted else Fraction(0)
    loss = COUNT_LEVEL * setting.beta if counted else Fraction(0)
    scale = noise_scale(2, epsilon - count)
    found = design(scale, scale, setting.beta - loss, setting.beta, even)
    if found is None:
        return None
    cut, need, mass, count_cut = found.sketch.cut, found.mass + 2 * t0, total - 2 * t0, 0
    least = (need + 1) // 2
    if antipodal and not even:
        least, mass = need, setting.n_alice - 2 * t0
    if counted:
        noise = dlap_sum_sf(2, noise_scale(1, count))
        lost, added = noise.quantile_upper(loss), noise.quantile_upper(setting.beta)
        count_cut = total // 2 - lost + 1
        least, mass = need + lost + added - 2, count_cut - added + 1 - 2 * t0
    return Course(antipodal and not even, count, count_cut, least, mass, found.sketch.buckets, cut)
