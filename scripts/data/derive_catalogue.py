"""Write the catalogue of certified instances, lp_gadgets/catalogue.json: a few seconds.

Usage: python scripts/data/derive_catalogue.py [--check]; with --check, compare and write nothing.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from lp_gadgets import catalogue

TARGET = Path(catalogue.__file__).with_name("catalogue.json")
#: name, graph, q, J, L, embedding, encoding, value of F
WANTED = (
    ("fano-2", "geometry:Fano", 2, 20, 3, "parabola", "facets", 1),
    ("fano-2-match", "geometry:Fano", 2, 20, 3, "parabola", "facets", 0),
    ("fano-8", "geometry:Fano", 8, 20, 3, "parabola", "facets", 1),
    ("quadrangle-4", "geometry:GQ(2,2)", 4, 40, 4, "parabola", "facets", 1),
    ("plane15-2", "geometry:EG(2,4)", 2, 40, 4, "parabola", "facets", 1),
    ("plane15-4", "geometry:EG(2,4)", 4, 40, 4, "cube", "facets", 1),
    ("hexagon-2", "geometry:GH(2,2)", 2, 100, 3, "parabola", "facets", 1),
    ("plane63-2", "geometry:EG(2,8)", 2, 100, 3, "parabola", "facets", 1),
    ("random-32-2", "biregular:32:dv=4:dc=8:seed=47", 2, 100, 3, "parabola", "facets", 1),
    ("cyclic-32-2", "qc:32:dv=4:dc=8:seed=0", 2, 100, 3, "parabola", "facets", 1),
    ("cyclic-32-2-match", "qc:32:dv=4:dc=8:seed=0", 2, 100, 3, "parabola", "facets", 0),
    ("cyclic-32-4", "qc:32:dv=4:dc=8:seed=0", 4, 100, 3, "cube", "facets", 1),
    ("cyclic-32-4-tree", "qc:32:dv=4:dc=8:seed=0", 4, 100, 3, "parabola", "tree", 1),
    ("cyclic-32-8-implied", "qc:32:dv=4:dc=8:seed=0", 8, 100, 3, "parabola", "implication tree", 1),
    ("cyclic-64-2", "qc:64:dv=4:dc=8:seed=0", 2, 100, 3, "parabola", "facets", 1),
    ("cyclic-64-8", "qc:64:dv=4:dc=8:seed=0", 8, 100, 3, "cube", "facets", 1),
    ("cyclic-128-2", "qc:128:dv=4:dc=8:seed=0", 2, 100, 3, "parabola", "facets", 1),
)


def main() -> None:
    """Build and certify every instance."""
    listed = []
    for name, code, q, J, L, embedding, encoding, F in WANTED:
        parameters = {"code": code, "q": q, "J": J, "L": L, "embedding": embedding, "encoding": encoding}
        built = catalogue.instance(parameters)
        u, v = (word.tolist() for word in built.words(F, 0))
        listed.append({"name": name, **parameters, "u": u, "v": v, **catalogue.facts(built, u, v)})
        print(name, built)
    text = '{"instances": [\n' + ",\n".join(json.dumps(entry) for entry in listed) + "\n]}\n"
    if "--check" in sys.argv[1:]:
        if TARGET.read_text(encoding="utf-8") != text:
            sys.exit("The catalogue differs from what the script makes.")
        return
    TARGET.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
