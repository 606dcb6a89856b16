"""The command line of lp_gadgets."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from geomdp import __version__


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; the version is all that this release of the package offers."""
    parser = argparse.ArgumentParser(
        prog="lp-gadgets",
        description="Hard instances for halfspace agreement. This release holds the package's frame only.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    parser.parse_args(arguments)
    parser.print_help()


if __name__ == "__main__":
    main()
