"""The application that every command registers with."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from geomdp.cli.interrupts import leave
from geomdp.cli.usage import Commands


class _Commands(Commands):
    """The commands of geomdp; Ctrl-C ends each with a sentence (by itself Typer would end without a word)."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Read the command line."""
        try:
            return super().make_context(*arguments, **options)
        except KeyboardInterrupt:
            leave()

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the commands by name, whichever of their modules was imported first."""
        return sorted(super().list_commands(ctx))

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            leave()


app = typer.Typer(
    cls=_Commands,
    add_completion=False,
    no_args_is_help=True,
    help="Can one classifier fit both datasets? Private two-party tests, and the exact optimum.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(shown: bool) -> None:
    if shown:
        from geomdp import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version
