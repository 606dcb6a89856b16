"""Bad usage of a command line in the words of all other errors: one sentence, and how to mend it.

The option parser finds what is wrong; its exceptions are told apart by the names of their classes, which are
the same in every version of it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperGroup

from geomdp.core.errors import ArgumentError, describe, is_plain

#: What the parser raises when it does not understand the command line.
UsageError: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "UsageError")


class Commands(TyperGroup):
    """Commands whose bad usage raises an :class:`~geomdp.core.errors.ArgumentError`."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Read the command line."""
        try:
            return super().make_context(*arguments, **options)
        except UsageError as error:
            restate(error, str(arguments[0] if arguments else options["info_name"]))

    def resolve_command(self, *arguments: Any) -> Any:
        """Return what is to run; its numbers are written in plain digits (the parser reads others, too)."""
        found = super().resolve_command(*arguments)
        _demand_plain(found[1])
        return found

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except UsageError as error:
            restate(error, f"{ctx.command_path} {ctx.invoked_subcommand or ''}".strip())


def restate(error: Any, path: str) -> NoReturn:
    """Raise an error of the option parser as an ArgumentError; a call for help stays what it is.

    Args:
        error: the parser's exception.
        path: the command that was being read, where the exception does not know it.

    Raises:
        ArgumentError: in place of the parser's exception.
    """
    kind = type(error).__name__
    if kind == "NoArgsIsHelpError":
        raise error
    path, text = error.ctx.command_path if error.ctx else path, error.format_message()
    mend = f"See: {path} --help"
    parameter = getattr(error, "param", None)
    if kind == "MissingParameter" and parameter is not None:
        raise ArgumentError(_name(parameter), "given", "left out", mend) from None
    if kind == "BadParameter" and parameter is not None:
        raise ArgumentError(_name(parameter), *_wrong_value(error, parameter), mend) from None
    if kind == "NoSuchOption":
        close = ", ".join(sorted(error.possibilities or ()))
        near = f"Close to it: {close}. {mend}" if close else mend
        raise ArgumentError(error.option_name, f"an option of '{path}'", "an unknown one", near) from None
    if kind == "BadOptionUsage":
        given = (
            ("followed by a value", "left without") if "requires" in text else ("a bare flag", "with a value")
        )
        raise ArgumentError(error.option_name.lstrip("-"), *given, mend) from None
    unknown = re.search(r"No such command '(.*?)'", text)
    if unknown and error.ctx:
        known = ", ".join(error.ctx.command.list_commands(error.ctx))
        raise ArgumentError("command", f"one of {known}", describe(unknown[1]), mend) from None
    extra = re.search(r"unexpected extra argument\S* \((.*)\)", text)
    if extra:
        raise ArgumentError(extra[1], f"left out of '{path}'", "given", mend) from None
    raise ArgumentError("command", f"as its help says ({text.rstrip('.')})", "what was given", mend) from None


def _demand_plain(command: Any) -> None:
    """Make a command refuse numbers like "1_0", or in digits of other scripts, that the parser would read."""
    hints = get_type_hints(inspect.unwrap(command.callback))
    for parameter in command.params:
        kind = _bare(hints.get(parameter.name))
        if kind in (int, float) and "process_value" not in vars(parameter):
            parameter.process_value = partial(_process, parameter, kind, parameter.process_value)


def _process(parameter: Any, kind: Any, process: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:
    if isinstance(value, str) and not is_plain(value):
        mend = f"Write it in the digits 0 to 9. See: {ctx.command_path} --help"
        raise ArgumentError(_name(parameter), _requirement(kind), describe(value), mend)
    return process(ctx, value)


def _name(parameter: Any) -> str:
    """Return an argument's name as its user knows it: the long option, or what the help calls it."""
    options = [name for name in parameter.opts if name.startswith("-")]
    return max(options, key=len).lstrip("-") if options else str(parameter.metavar or parameter.name)


def _wrong_value(error: Any, parameter: Any) -> tuple[str, str]:
    """Return (requirement, what was given) for a value of the wrong type."""
    reasons: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()
    quoted = re.search(r"'(.*)' is not ", error.message)
    value = reasons[0].get("input") if reasons else quoted[1] if quoted else None
    hints = get_type_hints(inspect.unwrap(error.ctx.command.callback))
    return _requirement(hints.get(parameter.name)), "what was given" if value is None else describe(value)


def _requirement(kind: Any) -> str:
    """Return what a value of some type must be.

    Example:
        >>> _requirement(int | None), _requirement(list[Path]), _requirement(float)
        ('an integer', 'a path', 'a number')
    """
    kind = _bare(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "one of " + ", ".join(repr(str(member.value)) for member in kind)
    return {int: "an integer", float: "a number", Path: "a path"}.get(kind, "of the kind that the help names")


def _bare(kind: Any) -> Any:
    """Return a type without "or None"; of a list, what it holds."""
    if get_origin(kind) is None:
        return kind
    return next(part for part in get_args(kind) if part is not type(None))
