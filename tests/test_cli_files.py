"""Laws of output files: a path is overwritten only where it holds an earlier result of the same kind."""

import json

import pytest

from geomdp import data
from geomdp.cli.shared import is_certificate, is_transcript

DELAYS = ["--grid", str(data.path("delays/grid.json")), "--label", "late", "--positive", "yes"]
TABLES = [str(data.path(f"delays/same_{airport}.csv")) for airport in ("jfk", "lga")]


FOREIGN = (
    b'{"weights": [1, 2]}',
    b'{"format": "theirs"}',
    b'{"parameters": {}, "messages": 3}',
    b"[]",
    b"",
    b"\xff\xfe",
    b"PK",
)


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_a_certificate_replaces_only_a_certificate(geomdp, tmp_path, suffix):
    """Opt writes over its own earlier certificate, in either format, and over nothing else."""
    path = tmp_path / f"c{suffix}"
    for _ in range(2):
        assert geomdp("opt", TABLES[0], *DELAYS, "--certificate", path)[0] == 0
        assert is_certificate(path)
    for content in FOREIGN:
        path.write_bytes(content)
        code, _, err = geomdp("opt", TABLES[0], *DELAYS, "--certificate", path)
        assert code == 2
        assert "or an earlier certificate" in err
        assert path.read_bytes() == content


def test_a_transcript_replaces_only_a_transcript(geomdp, tmp_path):
    """Assess writes over an earlier transcript, and over nothing else, a certificate included."""
    path, proof = tmp_path / "t.json", tmp_path / "c.json"
    options = ("assess", *TABLES, *DELAYS, "--epsilon", 1, "--seed", 1, "--transcript")
    for _ in range(2):
        assert geomdp(*options, path)[0] == 0
        assert is_transcript(path)
    geomdp("opt", TABLES[0], *DELAYS, "--certificate", proof)
    for content in (*FOREIGN, proof.read_bytes(), json.dumps({"parameters": {}, "messages": [1]}).encode()):
        path.write_bytes(content)
        code, _, err = geomdp(*options, path)
        assert code == 2
        assert "or an earlier transcript" in err
        assert path.read_bytes() == content
