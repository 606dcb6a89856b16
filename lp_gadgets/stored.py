"""An instance that was read from disk: manifest, evidence and certificate, and the check that they agree.

What is bound to what: the certificate proves its claims about the rows and records as they are. Then the
program is made again from the graph, the alphabet and the encoding that the manifest names, and must have the
same rows, names and layout; and the manifest is written again from what was found and must be the same, key
by key. The name of the graph is bound when it is a recipe (qc:64, geometry:Fano, ...): the graph is made
again. A name of another form is a label that promises nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from geomdp.core.errors import CertificateError, GeomdpError, describe
from lp_gadgets.program import Program, Recipe
from lp_gadgets.records import total
from lp_gadgets.sparse import SparseRows, names_sha256
from lp_gadgets.strict import difference
from lp_gadgets.tanner import TannerCode, WeakGraphWarning
from lp_gadgets.verifier import CLAIMS, Evidence, Verdict, verify

if TYPE_CHECKING:
    from geomdp.core.sample import Sample

#: The format of the manifest, and the files beside it.
FORMAT = "lp-gadgets instance 3"
FILES = ("program.npz", "records.npz", "certificate.json")


@dataclass(frozen=True, eq=False)
class StoredInstance:
    """An instance that was read from disk.

    Attributes:
        manifest: parameters and claims.
        evidence: what the verifier looks at.
        certificate: the certificate's document.
    """

    manifest: dict[str, Any]
    evidence: Evidence
    certificate: dict[str, Any]

    def verify(self, progress: Callable[[float], None] | None = None) -> Verdict:
        """Return what the certificate proves; the manifest must claim the same.

        `progress` is told the fraction of the certificate that has been replayed.

        Raises:
            CertificateError: naming the step that fails.
        """
        verdict = verify(self.evidence, self.certificate, progress)
        wanted = manifest_of(self.evidence, verdict, self.certificate, self.manifest["files"])
        place = difference(self.manifest, wanted)
        if place:
            raise CertificateError(f"Step 'manifest': it states another {place}.")
        _check_name(self.evidence.code)
        _check_recipe(self.evidence, self.certificate["label"])
        return verdict

    @cached_property
    def samples(self) -> tuple[Sample, Sample]:
        """The two parties' samples on the public domain."""
        from geomdp.core.sample import Sample

        domain = self.evidence.records.domain
        alice, bob = self.evidence.held
        none = np.zeros_like(alice)
        return Sample.from_counts(domain, none, alice), Sample.from_counts(domain, bob, none)


def manifest_of(
    proof: Evidence, verdict: Verdict, certificate: dict[str, Any], files: dict[str, str]
) -> dict[str, Any]:
    """Return the manifest of an instance: all of it follows from what was verified, but for the digests.

    Args:
        proof: rows and records.
        verdict: what the certificate proves.
        certificate: its document.
        files: sha256 of the other files.
    """
    label = certificate["label"]
    public, pins = proof.public, proof.pins
    return {
        "format": FORMAT,
        "code": proof.code.to_dict(),
        "q": proof.embedding.q,
        "embedding": proof.embedding.kind,
        "encoding": label["encoding"],
        "trace": label["trace"],
        "k": len(proof.message),
        "message": list(proof.message),
        "J": proof.J,
        "L": proof.L,
        "n": total(proof.held[0]),
        "slack": f"1/{proof.N}",
        "d": proof.records.d,
        "m": proof.records.m,
        "size": {
            "variables": public.columns,
            "public_rows": len(public),
            "points": len(public) + len(pins) + 2,
        },
        "diameters": list(proof.diameters),
        "u": certificate["u"],
        "v": certificate["v"],
        "predicted": {"opt": verdict.opt_lower},
        "claims": {name: getattr(verdict, name) for name in CLAIMS},
        "sha256": {
            "graph": proof.code.sha256,
            "public_rows": public.sha256,
            "pins": pins.sha256,
            "names": names_sha256(proof.layout.variables, public.names, pins.names),
        },
        "files": {name: files[name] for name in FILES},
    }


def _check_name(code: TannerCode) -> None:
    """Make a graph again from its name, if the name says how, and compare.

    A name of another form promises nothing; the certificate holds a copy of it.

    Raises:
        CertificateError: when the name belongs to another graph.
    """
    if not TannerCode.is_recipe(code.name):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakGraphWarning)
        try:
            size = None if code.name.startswith("geometry:") else int(code.name.split(":")[1])
            same = size in (None, code.K) and _parts(TannerCode.from_text(code.name)) == _parts(code)
        except (GeomdpError, IndexError, ValueError):
            same = False
    if not same:
        raise CertificateError(f"Step 'manifest': the graph is not the one named {describe(code.name)}.")


def _parts(code: TannerCode) -> tuple[Any, ...]:
    return code.checks, code.symmetry


def _check_recipe(proof: Evidence, label: dict[str, Any]) -> None:
    """Make the program again as the label says, and compare rows, names and layout.

    This does not belong to the proof, which holds for any rows; it binds the words that describe them.

    Raises:
        CertificateError: when another program results.
    """
    recipe = Recipe.of(proof.embedding.q, proof.embedding.kind, label["encoding"])
    if recipe.to_dict() != {key: label[key] for key in ("embedding", "encoding", "trace")}:
        raise CertificateError("Step 'recipe': the encoding of traces is not that of the checks.")
    try:
        made = Program(proof.code.over(proof.embedding.q, proof.message), recipe)
    except GeomdpError as problem:
        raise CertificateError(f"Step 'recipe': the program cannot be made again ({problem}).") from None
    same = (
        made.layout == proof.layout
        and all(mine.names == other.names for mine, other in _pairs(made, proof))
        and all(mine.sha256 == other.sha256 for mine, other in _pairs(made, proof))
    )
    if not same:
        raise CertificateError(
            f"Step 'recipe': the rows or their names are not those of the encoding {label['encoding']!r}."
        )
    if total(proof.held[0]) != total(proof.held[1]):
        raise CertificateError("Step 'records': the parties do not hold n records each.")


def _pairs(made: Program, proof: Evidence) -> tuple[tuple[SparseRows, SparseRows], ...]:
    return (made.public, proof.public), (made.pins, proof.pins)
