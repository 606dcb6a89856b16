"""The counting statement: from a relation of records to one row per occupied cell, in the engine's SQL.

Columns appear by position, numbers as bound parameters or integers of this module's own making; no text of a
table, of a header or of a caller becomes SQL.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational, Real
from typing import Any

import numpy as np

from geomdp.core.domain import Feature
from geomdp.core.errors import ArgumentError, TableError, check_fraction, describe
from geomdp.core.tables.sources import WHITESPACE, Source, locate

#: Texts that mean "no value", in lower case; one of them is a label when the caller names it as one.
MISSING = ("", "na", "n/a", "#n/a", "<na>", "nan", "null", "none")
_INTEGERS = ("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_UNSIGNED = ("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
_FLOATS = ("FLOAT", "DOUBLE")


@dataclass(frozen=True)
class Marks:
    """The caller's label values: all texts, or all exact rationals (a bool is 0 or 1).

    Attributes:
        positive: the value that means +1.
        negative: the value that means -1; None for "the one other value that occurs".
    """

    positive: str | Fraction
    negative: str | Fraction | None

    @classmethod
    def of(cls, positive: object, negative: object) -> Marks:
        """Return the checked marks.

        Raises:
            ArgumentError: unless both are texts, or both finite numbers or bools, and differ.

        Example:
            >>> Marks.of("yes", None).positive, Marks.of(True, 0).positive
            ('yes', Fraction(1, 1))
        """
        plus = _mark("positive", positive)
        minus = None if negative is None else _mark("negative", negative)
        if minus is not None and isinstance(plus, str) != isinstance(minus, str):
            kind = "text" if isinstance(plus, str) else "number or bool"
            raise ArgumentError("negative", f"a {kind}, like positive", describe(negative))
        return cls(plus, minus)._distinct()

    def numbers(self) -> tuple[Fraction, Fraction | None]:
        """Return the marks as rationals, for a column of numbers.

        Raises:
            ArgumentError: when a text is no number, "true" or "false", or both mean the same number.
        """
        plus = _rational("positive", self.positive)
        minus = None if self.negative is None else _rational("negative", self.negative)
        Marks(plus, minus)._distinct()
        return plus, minus

    def _distinct(self) -> Marks:
        if self.positive == self.negative:
            raise ArgumentError("negative", "a label other than positive", describe(str(self.negative)))
        return self


def _mark(name: str, value: object) -> str | Fraction:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str) and value.strip(WHITESPACE):
        return value.strip(WHITESPACE)
    if isinstance(value, Rational):  # bool and int included
        return Fraction(value)
    if isinstance(value, Real) and math.isfinite(value):
        return Fraction(float(value))
    shown = "an empty text" if isinstance(value, str) else describe(value)
    raise ArgumentError(name, "a label value: a text, a bool or a finite number", shown)


def _rational(name: str, value: str | Fraction) -> Fraction:
    if isinstance(value, Fraction):
        return value
    try:
        return check_fraction(name, {"true": "1", "false": "0"}.get(value.lower(), value))
    except ArgumentError:
        requirement = "a number or bool, as the label column holds numbers or booleans"
        raise ArgumentError(name, requirement, describe(value)) from None


def counting_statement(
    source: Source, axes: Sequence[Feature], columns: Sequence[str], label: str, marks: Marks
) -> tuple[str, dict[str, Any]]:
    """Return the statement that fills the table ``counts``, and its parameters.

    One row per occupied cell: ``cell, plus, minus, clipped, fault, first_other, last_other``. A record's
    ``fault`` is the first thing wrong with it, 3 i + 1, 2 or 3 for feature i and 3 r + 1 for the label (see
    :func:`.reading.count_table`); faulty records share the cell NULL. ``first_other`` and ``last_other``
    bound the labels that are neither mark.

    Raises:
        TableError: on a missing or repeated column, or one of a type that cannot serve.
    """
    r, parameters = len(axes), dict[str, Any](source.parameters)
    values, faults, places = [], [], []
    for i, column in enumerate(columns):
        value, missing = _number(source, locate(source, "features", column), column)
        values += [f"{value} AS x{i}", f"{missing} AS gap{i}"]
        faults += [
            f"WHEN gap{i} THEN {3 * i + 1}",
            f"WHEN x{i} IS NULL THEN {3 * i + 2}",
            f"WHEN NOT isfinite(x{i}) THEN {3 * i + 3}",
        ]
    key, plus, minus, missing = _label(source, locate(source, "label", label), label, marks, parameters)
    values.append(f"{key} AS label")
    faults.append(f"WHEN {missing} THEN {3 * r + 1}")
    for i, axis in enumerate(axes):
        parameters |= _axis_parameters(i, axis)
        stride = math.prod(later.levels for later in axes[i + 1 :])
        places.append(f"{_half_even(f'v{i}')} * {stride}")
    outside = " OR ".join(f"x{i} < $lower{i}::DOUBLE OR x{i} > $upper{i}::DOUBLE" for i in range(r))
    # Identifiers are c<i>, x<i>, ...; every value is a parameter or an integer made above.
    statement = f"""
        CREATE TEMP TABLE counts AS
        WITH records AS (SELECT {", ".join(values)} FROM {source.sql}),
        judged AS (
            SELECT *, CASE {" ".join(faults)} END AS fault,
                coalesce(label = {plus}, false) AS is_plus, coalesce(label = {minus}, false) AS is_minus,
                {", ".join(_scaled(i) for i in range(r))}
            FROM records),
        placed AS (
            SELECT fault, is_plus,
                CASE WHEN NOT is_plus AND NOT is_minus THEN label END AS other,
                CASE WHEN fault IS NULL THEN {" + ".join(places)} END AS cell,
                fault IS NULL AND ({outside}) AS is_clipped
            FROM judged)
        SELECT cell, count(*) FILTER (WHERE is_plus) AS plus, count(*) FILTER (WHERE NOT is_plus) AS minus,
            count(*) FILTER (WHERE is_clipped) AS clipped,
            min(fault) AS fault, min(other) AS first_other, max(other) AS last_other
        FROM placed GROUP BY cell"""  # noqa: S608
    return statement, parameters


def _axis_parameters(i: int, axis: Feature) -> dict[str, float]:
    return {
        f"lower{i}": float(axis.lower),
        f"upper{i}": float(axis.upper),
        f"span{i}": float(axis.upper - axis.lower),
        f"top{i}": float(axis.levels - 1),
    }


def _scaled(i: int) -> str:
    """Return SQL for the position v on the axis, clipped first: clipping to integers commutes with rint."""
    position = f"(x{i} - $lower{i}::DOUBLE) / $span{i}::DOUBLE * $top{i}::DOUBLE"
    return f"greatest(0::DOUBLE, least($top{i}::DOUBLE, {position})) AS v{i}"


def _half_even(v: str) -> str:
    """Return SQL for rint(v), v >= 0: v - floor(v) is exact there, so a tie is seen as one."""
    whole, part = f"floor({v})::BIGINT", f"({v} - floor({v}))"
    up = f"{part} > 0.5::DOUBLE OR ({part} = 0.5::DOUBLE AND {whole} % 2 = 1)"
    return f"({whole} + CASE WHEN {up} THEN 1 ELSE 0 END)"


def _text(column: str) -> str:
    return f"trim({column}::VARCHAR, E' \\t\\r\\n')"


def _absent(text: str, named: Sequence[str] = ()) -> str:
    marks = ", ".join(f"'{mark}'" for mark in MISSING)
    kept = "".join(f" AND {text} <> {name}" for name in named)
    return f"({text} IS NULL OR (lower({text}) IN ({marks}){kept}))"


def _is_text(kind: str) -> bool:
    return kind == "VARCHAR" or kind.startswith("ENUM")


def _number(source: Source, place: int, name: str) -> tuple[str, str]:
    """Return SQL for a feature's value as a double (NULL if it is no number), and for "it is missing"."""
    column, kind = f"c{place}", source.types[place]
    if _is_text(kind):
        text = _text(column)
        # The engine's cast also takes digit separators and "+-1"; neither is a number in a table.
        odd = f"contains({text}, '_') OR starts_with({text}, '+-')"
        return f"CASE WHEN {odd} THEN NULL ELSE TRY_CAST({text} AS DOUBLE) END", _absent(text)
    if kind == "HUGEINT" or kind.startswith("DECIMAL"):
        return f"{column}::VARCHAR::DOUBLE", f"{column} IS NULL"  # correctly rounded, however wide
    if kind in _INTEGERS + _UNSIGNED + _FLOATS:
        return f"{column}::DOUBLE", f"{column} IS NULL"
    raise TableError(
        "features", "columns of numbers", f"the column {describe(name)} of another type", "Convert it."
    )


def _label(
    source: Source, place: int, name: str, marks: Marks, parameters: dict[str, Any]
) -> tuple[str, str, str, str]:
    """Return SQL for a label's comparable key, for the keys of +1 and -1, and for "it is missing"."""
    column, kind = f"c{place}", source.types[place]
    ends = {"plus": marks.positive, "minus": marks.negative}
    if _is_text(kind):
        parameters |= {end: _text_key(mark) for end, mark in ends.items() if mark is not None}
        key = _text(column) if isinstance(marks.positive, str) else _by_value(_text(column))
        named = ["$plus"] if marks.negative is None else ["$plus", "$minus"]
        return key, "$plus", named[1] if len(named) > 1 else "NULL", _absent("label", named)
    floating = kind in _FLOATS or kind.startswith("DECIMAL")
    if not floating and kind not in _INTEGERS + _UNSIGNED:
        shown = f"the column {describe(name)} of another type"
        raise TableError("label", "a column of text, booleans or numbers", shown, "Convert it to text.")
    cast = "DOUBLE" if floating else "HUGEINT"
    keys = []
    for end, number in zip(ends, marks.numbers(), strict=True):
        text = None if number is None else _number_key(number, floating)
        keys.append("NULL" if text is None else f"${end}::VARCHAR::{cast}")
        parameters |= {} if text is None else {end: text}
    missing = "label IS NULL OR isnan(label)" if floating else "label IS NULL"
    return f"{column}::{cast}", keys[0], keys[1], missing


def _by_value(text: str) -> str:
    """Return SQL that writes equal small numbers (and true, false) as equal texts; other texts stay."""
    number = f"TRY_CAST({text} AS DOUBLE)"
    return (
        f"CASE WHEN lower({text}) = 'true' THEN '1.0' "
        f"WHEN lower({text}) = 'false' OR {number} = 0 THEN '0.0' "
        f"WHEN abs({number}) < {2**53} THEN {number}::VARCHAR ELSE {text} END"
    )


def _text_key(mark: str | Fraction) -> str:
    if isinstance(mark, str):
        return mark
    return repr(float(mark)) if abs(mark) < 2**53 else str(mark)


def _number_key(mark: Fraction, floating: bool) -> str | None:
    """Return a number as text for the engine to cast, or None when no value of the type equals it."""
    if floating:
        return repr(float(mark)) if abs(mark) < 2**1023 else None
    return str(int(mark)) if mark.denominator == 1 and abs(mark) < 2**127 else None
