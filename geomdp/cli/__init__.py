"""The command line; each command is a module of this room.

stdout carries the result only: tables for people, or with --json one JSON object and nothing else. Notes,
progress and errors go to stderr. Exit codes: 0 done, 1 a proof that fails, 2 bad input (nothing was written),
130 interrupted.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; bad input and Ctrl-C end with a sentence on stderr and exit code 2 or 130."""
    try:  # the imports stay inside: they take a moment, and Ctrl-C may come at any time
        from geomdp.cli.interrupts import heard, leave, say, watched

        with watched():
            try:
                from geomdp.cli.commands import app
                from geomdp.core.errors import GeomdpError

                try:
                    app(standalone_mode=True, prog_name="geomdp")
                except GeomdpError as error:
                    if not heard():
                        say(f"geomdp: {error}\n")
                        sys.exit(2)
                    raise
            except Exception:
                if not heard():
                    raise
                leave()  # some library turned Ctrl-C into an error of its own
            except KeyboardInterrupt:
                leave()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            sys.stderr.write("geomdp: interrupted; nothing was written\n")
        sys.exit(130)
