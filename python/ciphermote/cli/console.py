# SPDX-License-Identifier: Apache-2.0
"""Output for people: results on standard output; notes, errors and progress on standard error."""

from __future__ import annotations

import contextlib
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text


def printable(text: str) -> str:
    """Remove control characters, with which a file's content or name could control the terminal."""
    return "".join(character for character in text if character.isprintable())


def plain(text: str) -> Text:
    """Return text that is printed unchanged: brackets are not markup, and colons make no emoji."""
    return Text(printable(text))


def say(text: str) -> None:
    Console().print(plain(text), soft_wrap=True)


def note(text: str) -> None:
    Console(stderr=True).print(plain(f"note: {text}"), soft_wrap=True)


@contextlib.contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print the first warning raised in the block, and how many followed."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    if caught:
        more = f" (the same for {len(caught) - 1} more)" if len(caught) > 1 else ""
        note(f"{caught[0].message}{more}")


def fail(sentence: str) -> None:
    errors = Console(stderr=True)
    errors.print("error:", style="bold red", end=" ", highlight=False)
    errors.print(plain(sentence), soft_wrap=True)
    raise typer.Exit(1)


def add_row(table: Table, *cells: str) -> None:
    table.add_row(*map(plain, cells))


def print_items(
    items: Iterable[Any],
    fields: Callable[[Any], object],
    columns: Mapping[str, Callable[[Any], str]],
    *,
    as_json: bool,
) -> None:
    """Print a list as a table of these columns, or as JSON in the form of the gateway's lists, each item made
    by fields."""
    if as_json:
        typer.echo(json.dumps({"items": [fields(item) for item in items], "next": None}))
        return
    table = Table(*columns)
    for item in items:
        add_row(table, *(column(item) for column in columns.values()))
    Console().print(table)


def print_rows(rows: Iterable[tuple[str, str]], *, as_json: bool = False) -> None:
    """Print names and values as a table of two columns, or as JSON of {"field", "value"}."""
    if as_json:
        typer.echo(json.dumps({"items": [{"field": name, "value": value} for name, value in rows]}))
        return
    table = Table("field", "value", show_header=False)
    for name, value in rows:
        add_row(table, name, value)
    Console().print(table)


@contextlib.contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on standard error, which is called with (done, total)."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
