"""Laws of the pictures: what is drawn is checked as geometry, against recounts, never as pixels."""

import math
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from support.samplers import RecordingSampler

from geomdp import ArgumentError, CapacityError, Domain, Halfspace, Sample, Threshold, data, opt_halfspace
from geomdp.core.errors import MissingExtraError, ProtocolError
from geomdp.geometry.arrangement import dichotomies
from geomdp.geometry.cells import cells
from geomdp.geometry.charts import balanced, chart, disc, spread
from geomdp.geometry.containers import containers
from geomdp.geometry.convex import CommonPoint, Hyperplane
from geomdp.plot.artists import COLOURS
from geomdp.plot.containers import cones, container
from geomdp.plot.dual import arrangement, tiles
from geomdp.plot.plane import data_plane
from geomdp.plot.rounds import elimination, survivors
from geomdp.privacy.sampler import SimSampler
from geomdp.protocol.transcript import Message, Transcript
from geomdp.testers.base import Setting
from geomdp.testers.elimination import HalfspaceElimination
from geomdp.testers.replay import replay

mpl.use("Agg")
GALLERY = Path(__file__).resolve().parents[1] / "scripts" / "gallery"
GRID = Domain.grid([("x", 0, 10, 4), ("y", 20, 26, 4)])
LINE = Domain([[x, 1] for x in range(-3, 4)])
CENTRED = Domain([[a, b] for a in (-1, 0, 1) for b in (-1, 0, 1)])


@pytest.fixture(autouse=True)
def _figures():
    """Close every figure that a test has opened."""
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def grid():
    """Return all labellings of the 4 x 4 grid."""
    return dichotomies(GRID, generic=True)


def _pair(domain, seed=5, n=60):
    rng = np.random.default_rng(seed)
    samples = []
    for _ in range(2):
        w = rng.integers(-9, 10, domain.d)
        where = rng.integers(0, domain.m, n)
        samples.append(Sample.from_cells(domain, where, np.where(domain.points[where] @ w >= 0, 1, -1)))
    return samples


def _penguins(part, positive):
    domain = Domain.from_grid_file(data.path("penguins/grid8.json"))
    path = data.path(f"penguins/adelie_gentoo_{part}.csv")
    return Sample.from_table(domain, path, label="species", positive=positive)


def _back(where, x, y):
    """Return an integer weight vector at a place of the chart: the inverse map, written anew."""
    if where.view == "central":
        v = np.array([x, y, 1.0])
    elif where.view == "circle":
        v = np.array([x, y])
    else:
        rr = x * x + y * y
        v = np.array([x * math.sqrt(1 - rr / 4), y * math.sqrt(1 - rr / 4), 1 - rr / 2])
    w = np.linalg.solve(where.frame, v)
    return tuple(int(c) for c in np.rint(w / np.abs(w).max() * 2**40))


def _excess(units):
    """Return the solid angle of a spherical polygon by Girard's theorem."""
    total = 0.0
    for i in range(len(units)):
        p, q, r = units[i - 1], units[i], units[(i + 1) % len(units)]
        one, two = np.cross(q, p), np.cross(q, r)
        total += math.atan2(float(np.linalg.norm(np.cross(one, two))), float(one @ two))
    return total - (len(units) - 2) * math.pi


# Charts


@pytest.mark.parametrize("centre", [(3, 2, 9), (0, 0, 1), (1, 0, 0), (1, 2, -5)])
def test_sphere_is_tiled_with_true_areas(centre):
    """Every polygon has the solid angle of its cell, and together they are the whole sphere, 4 pi."""
    where = chart(balanced(GRID.points), view="sphere", centre=centre)
    found = cells(GRID.points)
    areas = np.array([where.polygon(cell.rays).area for cell in found])
    angles = np.array([_excess(where.coordinates(cell.rays)) for cell in found])
    assert np.abs(areas - angles).max() < 1e-3 * 4 * math.pi
    assert areas.sum() == pytest.approx(4 * math.pi, rel=2e-4)
    assert angles.sum() == pytest.approx(4 * math.pi)


def test_central_view_is_tiled_by_convex_polygons():
    """Polygons of a central view are convex and fill the window exactly."""
    where = chart(balanced(GRID.points), view="central", centre=(1, -2, 1), extent=0.7)
    polygons = [where.polygon(cell.rays) for cell in cells(GRID.points, where.window())]
    assert all(p.is_valid and p.convex_hull.area == pytest.approx(p.area) for p in polygons)
    assert sum(p.area for p in polygons) == pytest.approx(where.polygon(where.window()).area)
    assert where.polygon(where.window()).area == pytest.approx((1.4 * 1.02) ** 2, rel=0.02)


def test_balanced_coordinates_do_not_see_units():
    """Affine changes of the features leave the balanced coordinates of a classifier as they are."""
    change = np.array([[3, 0, 0], [0, 7, 0], [40, -9, 1]])
    w = np.array([5, -2, 1])
    moved = np.linalg.solve(change, w)
    there = balanced(GRID.points @ change)
    assert np.allclose(balanced(GRID.points) @ w, there @ moved)
    T = spread(GRID.points)
    rows = GRID.points / np.abs(GRID.points).max(axis=1, keepdims=True)
    assert GRID.points[0, -1] == 1
    assert np.allclose(np.cov((T @ rows.T), bias=True).shape, (3, 3))


@pytest.mark.parametrize("view", ["central", "sphere"])
def test_traces_hold_the_plane_they_show(view):
    """Every place on the trace of a plane maps back to a direction on that plane."""
    where = chart(
        balanced(GRID.points), view=view, centre=(1, -2, 1), extent=0.7 if view == "central" else None
    )
    z = (3, 2, 5)
    for x, y in np.asarray(where.trace(z).coords)[5:-5:7]:
        w = np.array(_back(where, x, y), dtype=np.float64)
        assert abs(w @ z) < 1e-5 * np.linalg.norm(w) * np.linalg.norm(z)


def test_charts_refuse_what_they_cannot_show():
    """A view of another dimension, a centre 0 and an extent 0 are refused."""
    for bad in ({"view": "circle"}, {"centre": (0, 0, 0)}, {"extent": 0}, {"view": "globe"}):
        with pytest.raises(ArgumentError):
            chart(np.eye(3), **bad)
    with pytest.raises(ArgumentError, match="'view'"):
        chart(np.eye(2), view="sphere")
    assert disc(2.0).area == pytest.approx(4 * math.pi, rel=1e-4)


# Weight space


@pytest.mark.parametrize("domain", [GRID, LINE, Domain([[1, 2], [2, 4]]), Domain([[0, 1, 1], [0, 2, 1]])])
def test_one_polygon_for_each_labelling(domain):
    """On pointed domains, of any rank, the picture of everything has one polygon per labelling."""
    W = dichotomies(domain)
    told = []
    seen = tiles(W, view="circle" if domain.d == 2 else "sphere", progress=told.append)
    assert sorted(seen.numbers.tolist()) == list(range(len(W)))
    assert len(seen.polygons) == len(W)
    assert len(seen.thin) == 0
    assert told == sorted(told)
    assert told[-1] == 1
    total = math.pi if domain.d == 2 else 4 * math.pi
    assert sum(p.area for p in seen.polygons) == pytest.approx(total, rel=1e-3)


def test_labellings_without_a_cell_are_listed():
    """Where the domain is not pointed: polygons, thin labellings and w = 0 are all there is."""
    W = dichotomies(CENTRED)
    seen = tiles(W)
    zero = int((W.weights == 0).all(axis=1).sum())
    assert len(seen.polygons) + len(seen.thin) + zero == len(W) == 17
    S, T = _pair(CENTRED)
    assert len(arrangement(W, S, T, ax=plt.subplots()[1]).tiles.thin) == len(seen.thin)


@pytest.mark.parametrize("view", ["central", "sphere"])
def test_cells_are_coloured_by_recounted_mistakes(grid, view):
    """At a point inside each polygon the classifier makes the mistakes that the colour says."""
    S, T = _pair(GRID)
    extent = {"centre": (1, -2, 1), "extent": 0.8} if view == "central" else {}
    drawn = arrangement(grid, S, T, view=view, ax=plt.subplots()[1], **extent)
    assert len(drawn.cells.get_paths()) == len(drawn.tiles.polygons) == len(drawn.cells.get_array())
    for polygon, value in zip(drawn.tiles.polygons, drawn.cells.get_array(), strict=True):
        place = polygon.representative_point()
        h = Halfspace(_back(drawn.tiles.chart, place.x, place.y))
        assert h.mistakes(S) + h.mistakes(T) == value


@pytest.mark.parametrize(("domain", "k"), [(GRID, (4, 9)), (LINE, 2)])
def test_regions_are_the_low_error_cells(domain, k):
    """Each party's region has as many cells as it has labellings of at most k mistakes, shared ones apart."""
    W = dichotomies(domain, generic=True)
    S, T = _pair(domain)
    view = "circle" if domain.d == 2 else "sphere"
    drawn = arrangement(W, S, T, k=k, view=view, ax=plt.subplots()[1])
    k_A, k_B = k if isinstance(k, tuple) else (k, k)
    a, b = W.mistakes(S) <= k_A, W.mistakes(T) <= k_B
    sizes = {name: len(region.get_paths()) for name, region in drawn.regions.items()}
    assert sizes == {"Alice": (a & ~b).sum(), "Bob": (b & ~a).sum(), "both": (a & b).sum()}
    colour = drawn.regions["Alice"].get_facecolor()
    assert not a.any() or np.allclose(colour[0][:3], mpl.colors.to_rgb(COLOURS["Alice"]))


@pytest.mark.parametrize("domain", [GRID, LINE])
def test_default_regions_are_separated(domain):
    """By default (d + 1) k < opt: the certificate is a plane, verified, and the dots lie on its two sides."""
    W = dichotomies(domain, generic=True)
    S = Sample.from_counts(domain, *(np.arange(domain.m)[::s] % 5 for s in (1, -1)))
    T = Sample.from_counts(domain, S.negative, S.positive)
    drawn = arrangement(W, S, T, ax=plt.subplots()[1])
    opt = opt_halfspace(S, T).upper
    k = (opt - 1) // (domain.d + 1)
    A, B = W.weights[W.mistakes(S) <= k], W.weights[W.mistakes(T) <= k]
    if len(A) and len(B):
        assert isinstance(drawn.certificate, Hyperplane)
        assert drawn.certificate.verify(A, B)
        assert drawn.separator is not None
    assert f"opt = {opt}" in drawn.ax.get_title()


def test_hulls_hold_their_dots_and_meet_at_the_star(grid):
    """A hull's border encloses all its representatives; regions that meet have a verified common point."""
    from shapely import LinearRing, Point, Polygon

    S, T = _pair(GRID)
    drawn = arrangement(grid, S, T, k=30, centre=(1, -2, 1), view="sphere", ax=plt.subplots()[1])
    groups = [grid.weights[grid.mistakes(sample) <= 30] for sample in (S, T)]
    assert isinstance(drawn.certificate, CommonPoint)
    assert drawn.certificate.verify(*groups)
    small = arrangement(grid, S, T, k=9, view="sphere", ax=plt.subplots()[1])
    dots = small.tiles.chart.project(grid.weights[grid.mistakes(S) <= 9])
    border = LinearRing(small.hulls["Alice"].get_segments()[0])
    assert all(Polygon(border).buffer(1e-3).contains(Point(p)) for p in dots)


def test_window_shows_part_of_a_large_arrangement():
    """A small window needs few cells even where the whole has 40,150, and the limit guards the rest."""
    W = dichotomies(Domain.grid([("x", 0, 1, 16), ("y", 0, 1, 16)]))
    seen = tiles(W, centre=(1, 1, -15), extent=0.02)
    assert 20 < len(seen.polygons) < 2000
    with pytest.raises(CapacityError, match="at most 1,000 cells"):
        tiles(W, view="sphere", limit=1000)


def test_pictures_refuse_other_dimensions_and_domains(grid):
    """D = 4, a wrong k, and samples of another domain are refused."""
    cube = Domain([[a, b, c, 1] for a in (0, 1) for b in (0, 1) for c in (0, 1)])
    with pytest.raises(ArgumentError, match="d = 2 or 3, not of d = 4"):
        tiles(dichotomies(cube))
    with pytest.raises(ArgumentError, match="'W'"):
        tiles(GRID)
    S, T = _pair(GRID)
    for bad in ((1, 2, 3), -1, "2"):
        with pytest.raises(ArgumentError, match="'k'"):
            arrangement(grid, S, T, k=bad)
    with pytest.raises(ArgumentError):
        arrangement(grid, *_pair(LINE))


def test_a_missing_matplotlib_names_its_extra(monkeypatch, grid):
    """Without matplotlib the error says which extra brings it."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"geomdp\[plot\]"):
        arrangement(grid, *_pair(GRID))


def test_importing_the_room_imports_no_matplotlib():
    """The pictures' modules load neither matplotlib nor shapely until something is drawn."""
    code = (
        "import sys; from geomdp.plot import dual, rounds, containers, plane;"
        "print({'matplotlib', 'shapely'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# Elimination


@pytest.fixture(scope="module")
def far():
    """Return a simulated run on the penguins whose labels conflict."""
    alice, bob = _penguins("a", "Gentoo"), _penguins("b", "Adelie")
    tester = HalfspaceElimination(Setting(alice.domain, alice.n, bob.n, 8))
    return tester, alice, bob, tester.converse(alice, bob, *SimSampler(1).spawn(2))


def test_replay_follows_the_transcript(far):
    """A replay ends as the run did, its steps chain, and the losses add up to what the transcript says."""
    tester, _, _, finding = far
    run = replay(tester, finding.transcript)
    assert run.verdict == finding.verdict == "Far"
    assert len(run.steps[0].before) == len(run.weights) == 2566
    for one, two in zip(run.steps, run.steps[1:], strict=False):
        assert np.array_equal(one.after, two.before)
        assert set(one.after) < set(one.before)
        assert one.cut_by in ("Alice", "Bob")
    assert all(run.steps[-1].spent[name] == finding.transcript.spent(name) for name in ("Alice", "Bob"))
    cuts = [m for m in finding.transcript.messages if m.payload.get("index", -1) >= 0]
    assert [step.cut_by for step in run.steps if step.cut_by] == [m.sender for m in cuts]


def test_replay_of_a_match_keeps_the_good_candidates():
    """Without noise a pair that fits ends in Match, and no best candidate was dropped."""
    S = Sample.from_counts(GRID, [30] * 8 + [0] * 8, [0] * 8 + [30] * 8)
    tester = HalfspaceElimination(Setting(GRID, S.n, S.n, 4))
    finding = tester.converse(S, S, RecordingSampler(), RecordingSampler())
    run = replay(tester, finding.transcript)
    assert run.verdict == finding.verdict == "Match"
    best = np.flatnonzero(dichotomies(GRID, generic=True).mistakes(S) == 0)
    assert set(best) <= set(run.steps[-1].after)


def test_replay_refuses_what_did_not_happen(far):
    """Another tester's transcript, a missing, an altered or an added message are refused."""
    tester, _, _, finding = far
    parameters, messages = finding.transcript.parameters, finding.transcript.messages
    first = messages[0]
    wrong = [
        messages[:-1],
        [*messages, first],
        [
            Message(first.sender, first.kind, {"index": 10**6, "candidates": 2566}, first.epsilon),
            *messages[1:],
        ],
        [Message(first.sender, first.kind, {"index": 0, "candidates": 7}, first.epsilon), *messages[1:]],
    ]
    for altered in wrong:
        with pytest.raises(ProtocolError):
            replay(tester, Transcript(parameters, altered))
    with pytest.raises(ArgumentError, match="'transcript'"):
        replay(tester, Transcript({}, messages))


def test_each_round_is_drawn_as_it_was_played(far):
    """Per round the gone, dropped and surviving polygons are as many as the candidates were."""
    tester, alice, bob, finding = far
    run = replay(tester, finding.transcript)
    W = dichotomies(alice.domain, generic=True)
    _, axes = plt.subplots(2, 5)
    drawn = elimination(run, W, alice, bob, axes=axes)
    total = W.mistakes(alice) + W.mistakes(bob)
    for step, picture in zip(run.steps, drawn, strict=True):
        sizes = {name: len(region.get_paths()) for name, region in picture.regions.items()}
        gone = len(W) - len(step.before)
        dropped = len(step.before) - len(step.after)
        assert sizes == {"gone": gone, "dropped": dropped, "after": len(step.after)}
        assert sorted(picture.cells.get_array()) == sorted(total[step.after])
        if step.cut_by:
            colour = picture.regions["dropped"].get_facecolor()[0][:3]
            assert np.allclose(colour, mpl.colors.to_rgb(COLOURS[step.cut_by]))
        assert f"Round {step.round}" in picture.ax.get_title()
    with pytest.raises(ArgumentError, match="'axes'"):
        elimination(run, W, alice, bob, axes=axes.flat[:2])
    with pytest.raises(ArgumentError, match="'W'"):
        elimination(run, dichotomies(GRID), alice, bob, axes=axes)


def test_survivors_may_be_none_at_all(grid):
    """A round that leaves nobody is drawn as such."""
    picture = survivors(tiles(grid, view="sphere"), np.zeros(0, dtype=np.int64), ax=plt.subplots()[1])
    assert len(picture.regions["dropped"].get_paths()) == len(grid)
    assert len(picture.cells.get_paths()) == 0


# Containers


@pytest.mark.parametrize("domain", [GRID, Domain([[x, 1] for x in range(40)])])
def test_container_leaves_out_the_shaded_points(domain):
    """Points in the shaded cone are those left out, and a covered halfspace has none of them."""
    from shapely import Point

    W = dichotomies(domain, generic=True).weights
    family = containers(W, ratio=0.8, method="cones")
    z = next(z for z in np.eye(domain.d, dtype=int) if (W @ z > 0).sum() <= family.most)
    index = family.covering(z)
    drawn = container(family, index, z=z, ax=plt.subplots()[1])
    counts = {name: len(dots.get_offsets()) for name, dots in drawn.points.items()}
    inside = family.mask(index)
    assert counts["outside"] == (~inside).sum()
    assert counts["halfspace"] == (W @ z > 0).sum()
    assert sum(counts.values()) == len(W)
    shaded, clear = drawn.shape.buffer(1e-2), drawn.shape.buffer(-1e-2)
    places = drawn.chart.project(W) * (0.98 if domain.d == 2 else 1.0)
    assert all(shaded.contains(Point(p)) for p in places[~inside])
    assert not any(clear.contains(Point(p)) for p in places[inside])


def test_cones_tile_the_halfspaces_that_must_be_covered():
    """One path per cone, numbered by its member; a small halfspace lies in a cone of a covering member."""
    from shapely import Point

    W = dichotomies(GRID, generic=True).weights
    family = containers(W, ratio=0.75, method="cones")
    drawn = cones(family, ax=plt.subplots()[1])
    owners = drawn.cones.get_array()
    assert len(drawn.polygons) == len(owners) == sum(map(len, family.cones))
    rng = np.random.default_rng(3)
    for z in rng.integers(-50, 51, (60, 3)):
        inside = W @ z > 0
        if inside.sum() > family.most or not z.any():
            continue
        place = Point(drawn.chart.project([z])[0])
        hits = {int(o) for p, o in zip(drawn.polygons, owners, strict=True) if p.buffer(2e-2).contains(place)}
        assert any(not (inside & ~family.mask(member)).any() for member in hits)


def test_container_pictures_refuse_what_they_cannot_draw():
    """A list has no cones; a missing member, d = 4 and a stranger are refused; a list's member is drawn."""
    points = np.array([[1, 0, 2], [0, 1, 2], [-1, -1, 3], [2, 1, 1]])
    family = containers(points, ratio=0.5, method="list")
    with pytest.raises(ArgumentError, match="cut by cones"):
        cones(family)
    with pytest.raises(ArgumentError, match="'index'"):
        container(family, len(family))
    with pytest.raises(ArgumentError, match="d = 2 or 3"):
        cones(containers(np.eye(4, dtype=int), ratio=0.5))
    with pytest.raises(ArgumentError, match="'family'"):
        container(points, 0)
    assert container(family, 0, ax=plt.subplots()[1]).shape.is_empty


# The data plane


def test_tiles_hold_all_records_and_frames_all_mistakes():
    """Arrays of the tiles add up to the labels' counts; framed shares add up to the classifier's mistakes."""
    S, T = _pair(GRID)
    sample, h = S + T, Halfspace((1, -2, 1))
    drawn = data_plane(sample, h, ax=plt.subplots()[1])
    assert drawn.cells["+"].get_array().sum() == sample.positives.sum()
    assert drawn.cells["-"].get_array().sum() == sample.negatives.sum()
    assert drawn.mistakes == h.mistakes(sample)
    right = h.predict(sample.points) > 0
    wrong = ((sample.positives > 0) & ~right).sum() + ((sample.negatives > 0) & right).sum()
    assert len(drawn.wrong.get_paths()) == wrong
    assert drawn.ax.get_xlabel() == "x"
    written = sum(int(text.get_text()) for text in drawn.ax.texts)
    assert written == sample.n


def test_shares_of_a_mixed_cell_fill_it():
    """The two rectangles of a mixed cell have areas in proportion and make up one square around its level."""
    sample = Sample.from_cells(GRID, [5, 5, 5, 5], [1, 1, 1, -1])
    drawn = data_plane(sample, ax=plt.subplots()[1])
    boxes = {label: drawn.cells[label].get_paths()[0].get_extents() for label in "+-"}
    assert boxes["+"].width == pytest.approx(0.75)
    assert boxes["-"].width == pytest.approx(0.25)
    assert (boxes["+"].x0, boxes["-"].x1, boxes["+"].y0) == pytest.approx((0.5, 1.5, 0.5))
    assert drawn.wrong is None


def test_the_line_divides_the_labels():
    """The boundary's ends satisfy the classifier's equation; points on its two sides get its two labels."""
    h = Halfspace((2, -3, 1))
    drawn = data_plane(_pair(GRID)[0], h, ax=plt.subplots()[1])
    ((x0, y0), (x1, y1)) = drawn.boundary.get_segments()[0]
    for x, y in ((x0, y0), (x1, y1)):
        assert 2 * x - 3 * y + 1 == pytest.approx(0)
    constant = data_plane(_pair(GRID)[0], Halfspace((0, 0, 1)), ax=plt.subplots()[1])
    assert constant.boundary is None


def test_one_feature_and_free_points_are_drawn_too():
    """Bars carry the counts of a line; a threshold stands before its rank; free points get tiles."""
    line = Sample.from_cells(Domain.line(2**40), [5, 5, 2**39], [1, 1, -1])
    drawn = data_plane(line, Threshold(6), ax=plt.subplots()[1])
    assert drawn.cells["+"].get_paths()[0].get_extents().height == 2
    assert drawn.mistakes == 3
    ranks = Domain.grid([("dose", 0, 30, 4)])
    sample = Sample.from_cells(ranks, [0, 1, 3], [-1, -1, 1])
    drawn = data_plane(sample, Threshold(2), ax=plt.subplots()[1])
    assert drawn.mistakes == 0
    assert {x for x, _ in drawn.boundary.get_segments()[0]} == {1.5}
    free = Domain([[0, 0, 1], [5, 1, 2], [3, 9, 1]])
    drawn = data_plane(
        Sample.from_cells(free, [0, 1, 2], [1, -1, 1]), Halfspace((0, 1, -1)), ax=plt.subplots()[1]
    )
    assert drawn.mistakes == 1
    assert len(drawn.wrong.get_paths()) == 1
    empty = data_plane(Sample.from_cells(GRID, [], []), Halfspace((1, 0, -1)), ax=plt.subplots()[1])
    assert empty.mistakes == 0


def test_the_plane_refuses_what_it_cannot_draw():
    """D = 4, points at infinity, and things that are no classifier are refused."""
    cube = Domain([[1, 2, 3, 4]])
    with pytest.raises(ArgumentError, match="d = 2 or 3"):
        data_plane(Sample.from_cells(cube, [0], [1]))
    with pytest.raises(ArgumentError, match="positive"):
        data_plane(Sample.from_cells(CENTRED, [0], [1]))
    with pytest.raises(ArgumentError, match="'classifier'"):
        data_plane(_pair(GRID)[0], (1, 2, 3))
    with pytest.raises(ArgumentError, match="'sample'"):
        data_plane(GRID)


# The gallery


def _draw(script, folder):
    command = [sys.executable, "-W", "error", str(GALLERY / f"{script}.py"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return sorted(path.name for path in folder.glob("*.png")), done.stdout.split()


LONG = [pytest.param(s, marks=pytest.mark.exhaustive) for s in ("arrangement", "data_plane", "elimination")]


@pytest.mark.parametrize("script", ["containers", *LONG])
def test_gallery_scripts_run_and_say_what_they_wrote(script, tmp_path):
    """A gallery script writes its pictures into the folder it is given, and prints their names."""
    written, printed = _draw(script, tmp_path / "pictures")
    assert written
    assert written == sorted(Path(name).name for name in printed)
