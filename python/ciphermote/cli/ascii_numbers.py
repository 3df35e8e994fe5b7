# SPDX-License-Identifier: Apache-2.0
"""Parse numbers in options by the rules of number_text.py, in place of typer's, which are Python's."""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any

import typer
from typer.models import ArgumentInfo, OptionInfo

from ciphermote.base import number_text

_READERS: dict[type, tuple[str, Callable[[str], float]]] = {
    int: ("whole number", number_text.integer),
    float: ("number", number_text.real),
}


def take_ascii_numbers(app: typer.Typer) -> None:
    """Make all commands of an application parse numbers as ASCII digits."""
    for command in app.registered_commands:
        if command.callback is not None:
            hints = typing.get_type_hints(command.callback, include_extras=True)
            for hint in hints.values():
                _read_in_ascii(hint)
            command.callback.__annotations__ = hints
    for group in app.registered_groups:
        if group.typer_instance is not None:
            take_ascii_numbers(group.typer_instance)


def _read_in_ascii(hint: Any) -> None:
    """Convert one parameter: Annotated[int, Option(...)], or of int | None."""
    kind = getattr(hint, "__origin__", None)
    for number in {kind, *typing.get_args(kind)} & set(_READERS):
        for info in hint.__metadata__:
            if isinstance(info, OptionInfo | ArgumentInfo) and info.parser is None:
                info.parser = _reader(*_READERS[number], info.min, info.max)
                info.metavar = info.metavar or {int: "INTEGER", float: "FLOAT"}[number]


def _reader(
    what: str, read: Callable[[str], float], least: float | None, most: float | None
) -> Callable[[str | float], float]:
    def parse(given: str | float) -> float:
        try:
            number = read(given) if isinstance(given, str) else given  # a default is a number already
        except ValueError:
            raise typer.BadParameter(f"{given!r} is no {what} in the digits 0 to 9.") from None
        if (least is not None and number < least) or (most is not None and number > most):
            limits = "" if least is None else f" from {least:,.15g}"
            limits += "" if most is None else f" to {most:,.15g}"
            raise typer.BadParameter(f"{given} is not in the range{limits}.")
        return number

    return parse
