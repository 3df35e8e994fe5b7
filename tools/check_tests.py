#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that no test in Python passes whatever the code does: asserts of what is always true, patterns that
match everything, tests that check nothing.

tools/check_tests.py [FILE...]      (default: all Python files of the repository's tests)
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("tests", "rtl", "ports", "bench", "examples", "tools")
ALWAYS_TRUE = (ast.GeneratorExp, ast.Lambda, ast.JoinedStr)
LAZY = {"map", "filter", "zip", "iter", "reversed", "enumerate"}
MATCHING = {"pytest.raises", "pytest.warns", "raises", "warns"}
FAILING = {"fail", "raises", "warns", "check_call", "check_output", "wait_for", "run_until_complete"}


def main(arguments: list[str]) -> int:
    paths = [Path(name) for name in arguments] or [
        path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))
    ]
    trees = {path: ast.parse(path.read_text(encoding="utf-8"), str(path)) for path in paths}
    checking = names_that_check(trees.values())
    faults = [
        f"{path}:{line}: {what}"
        for path, tree in trees.items()
        for line, what in (*useless_checks(tree), *tests_without_checks(tree, checking))
    ]
    for fault in faults:
        print(fault, file=sys.stderr)
    return bool(faults)


def useless_checks(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert) and is_always_true(node.test):
            yield node.lineno, "the assert is always true: compare, or use all(...) or any(...)"
        if isinstance(node, ast.Call) and ast.unparse(node.func) in MATCHING:
            for option in node.keywords:
                if option.arg == "match" and matches_everything(option.value):
                    yield node.lineno, "the pattern matches every message: give words of the expected one"


def is_always_true(test: ast.expr) -> bool:
    """Whether an expression is true whatever its parts are."""
    if isinstance(test, ast.Tuple):
        return bool(test.elts)
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return any(map(is_always_true, test.values))
    if isinstance(test, ast.Call):
        return isinstance(test.func, ast.Name) and test.func.id in LAZY
    return isinstance(test, ALWAYS_TRUE)


def matches_everything(pattern: ast.expr) -> bool:
    if not isinstance(pattern, ast.Constant) or not isinstance(pattern.value, str):
        return False
    return re.search(pattern.value, "") is not None and pattern.value != "^$"


def names_that_check(trees: Iterable[ast.AST]) -> set[str]:
    """Functions and classes that check something, or call one that does."""
    bodies: dict[str, list[ast.AST]] = {}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                bodies.setdefault(node.name, []).append(node)
    found = {name for name, nodes in bodies.items() if any(map(checks, nodes))}
    while more := {
        name
        for name, nodes in bodies.items()
        if name not in found and any(called(node) & found for node in nodes)
    }:
        found |= more
    return found


def checks(node: ast.AST) -> bool:
    """Whether it asserts or raises, itself."""
    return any(isinstance(each, ast.Assert | ast.Raise) for each in ast.walk(node)) or bool(
        called(node) & FAILING
    )


def called(node: ast.AST) -> set[str]:
    """The last names of what it calls, or hands on to be called; fixtures are among its arguments."""
    names = {
        each.attr if isinstance(each, ast.Attribute) else each.id
        for each in ast.walk(node)
        if isinstance(each, ast.Attribute | ast.Name)
    }
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        names |= {argument.arg for argument in node.args.args}
    return names


def tests_without_checks(tree: ast.AST, checking: set[str]) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        is_test = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
        if is_test and not checks(node) and not called(node) & checking:
            yield node.lineno, f"{node.name} checks nothing: assert what it is about"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
