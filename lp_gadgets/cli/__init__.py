"""The command line of lp_gadgets: predict, build, verify, export, catalogue.

stdout carries the result only, with --json one JSON object and nothing else; progress and errors go to
stderr.
Exit codes: 0 done, 1 a certificate does not hold, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and exit."""
    try:  # the imports stay inside: they take a moment, and Ctrl-C may come at any time
        from lp_gadgets.cli.commands import run

        code = run()
    except KeyboardInterrupt:
        sys.stderr.write("lp-gadgets: interrupted; nothing was written\n")
        code = 130
    sys.exit(code)
