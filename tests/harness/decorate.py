"""Puts decorators on a program's functions, by the room that `hybridize fix` writes with wherever that can."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

from harness.model import Program
from hybridize.rewrite import DecoratorChange, plan_edits
from hybridize.rewrite.dialect import TENSORFLOW

Function = ast.FunctionDef | ast.AsyncFunctionDef


class TargetError(ValueError):
    """There is no such function, or it can't be decorated; the message says which and why."""


def decorated(program: Program) -> Program:
    """The program with its targets decorated.

    Raises:
        TargetError: see there.
    """
    texts = dict(program.files)
    for target in program.targets:
        path, name = split_target(program, target)
        if path not in texts:
            raise TargetError(f"no file {path}")
        for decorator in (d.strip() for d in program.decorator.split(";")):
            texts[path] = add_decorator(texts[path], name, decorator, outermost=program.outermost)
    return replace(program, files=tuple(texts.items()))


def split_target(program: Program, target: str) -> tuple[str, str]:
    """The file and the name of a target."""
    path, colon, name = target.rpartition(":")
    return (path, name) if colon else (program.entry, target)


def lexical_path(source: str, name: str) -> str:
    """The full lexical path of the function with this path or bare name, the first of those so called.

    Raises:
        TargetError: the source does not parse, or has no such function.
    """
    return _find(source, name)[0]


def add_decorator(source: str, name: str, decorator: str, *, outermost: bool = False) -> str:
    """The source with one more decorator on the named function.

    Raises:
        TargetError: no such function, or the change was refused.
    """
    path, node = _find(source, name)
    arguments = _arguments(decorator)
    if outermost or arguments is None or _has_decorator(node):
        return _add_line(source, node, decorator, outermost)
    change = DecoratorChange(
        Path("program.py"), node.lineno, node.col_offset + 1, path, "add", TENSORFLOW, tuple(arguments)
    )
    result = plan_edits(source.encode(), (change,))
    if result.dropped:
        raise TargetError(f"{path}: {result.dropped[0][1]}")
    return result.new.decode()


def _find(source: str, name: str) -> tuple[str, Function]:
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise TargetError(f"the program does not parse: {error}") from error
    found: list[tuple[str, Function]] = []

    def visit(node: ast.AST, path: str) -> None:
        for child in ast.iter_child_nodes(node):
            inner = path
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                inner = f"{path}.{child.name}".lstrip(".")
                if not isinstance(child, ast.ClassDef) and name in (inner, child.name):
                    found.append((inner, child))
            visit(child, inner)

    visit(tree, "")
    exact = [f for f in found if f[0] == name] or found
    if not exact:
        raise TargetError(f"no function {name}")
    return exact[0]


def _arguments(decorator: str) -> list[tuple[str, str]] | None:
    """The keyword arguments of a `tf.function` call as written; None for any other decorator."""
    node = ast.parse(decorator, mode="eval").body
    if ast.unparse(node) == "tf.function":
        return []
    if not isinstance(node, ast.Call) or ast.unparse(node.func) != "tf.function" or node.args:
        return None
    if any(k.arg is None for k in node.keywords):
        return None
    return [(k.arg or "", ast.unparse(k.value)) for k in node.keywords]


def _has_decorator(node: Function) -> bool:
    """Whether it is hybrid already: the rewrite room never writes a second one."""
    return any(ast.unparse(d).split("(")[0].endswith("tf.function") for d in node.decorator_list)


def _add_line(source: str, node: Function, decorator: str, outermost: bool) -> str:
    line = node.decorator_list[0].lineno if outermost and node.decorator_list else node.lineno
    lines = source.splitlines(keepends=True)
    indent = lines[line - 1][: len(lines[line - 1]) - len(lines[line - 1].lstrip())]
    lines.insert(line - 1, f"{indent}@{decorator}\n")
    return "".join(lines)
