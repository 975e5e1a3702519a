"""Which files of a program may run without TensorFlow: Keras takes another backend for them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Final

from hybridize.domain.objects import Class, Func, Lib, Mod, Value
from hybridize.tracing.views import ProjectView

_ROOT: Final = "tensorflow"


class Backends:
    """The files that use TensorFlow by name, and those of the others that run on any backend of Keras."""

    def __init__(self, project: ProjectView) -> None:
        modules = list(project.solution.world.modules.values())
        keras = {mod.path for mod in modules if _names(mod, "keras")}
        self.tensorflow = {mod.path for mod in modules if _names(mod, "tf")}
        for module in project.solution.program.modules.values():
            path = module.code.path
            if module.text is None or _ROOT not in module.text.text or path in self.tensorflow:
                continue
            # Beside Keras a branch or function may import it for one of several backends.
            if path not in keras or _imports(project.module(path)):
                self.tensorflow.add(path)
        self.neutral = keras - self.tensorflow
        used = {mod.path: {p for cell in mod.fields.values() for p in _paths(cell.value)} for mod in modules}
        left = [p for p, others in used.items() if p not in self.tensorflow and others.isdisjoint(self.tensorflow)]
        while found := {p for p in left if not used[p].isdisjoint(self.neutral)} - self.neutral:
            self.neutral |= found


def _paths(value: Value) -> Iterator[str]:
    """The files of the project that modules, functions and classes in a value stand in."""
    for obj in value:
        if isinstance(obj, Mod):
            yield obj.path
        elif isinstance(obj, (Func, Class)):
            yield obj.code.path


def _names(module: Mod, root: str) -> bool:
    """Whether a library, or something of it, has a name in a module."""
    return any(
        isinstance(obj, Lib) and obj.name.partition(".")[0] == root
        for cell in module.fields.values()
        for obj in cell.value
    )


def _imports(module: ast.Module | None) -> bool:
    """Whether a module imports TensorFlow when it is imported itself."""
    return module is not None and any(_is_import(node) for node in _run(module.body))


def _run(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The statements of a module body, those in branches too, and none of functions."""
    for node in body:
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield from _run(ast.iter_child_nodes(node))


def _is_import(node: ast.AST) -> bool:
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    if isinstance(node, ast.ImportFrom) and not node.level:
        names.append(node.module or "")
    return any(name.partition(".")[0] == _ROOT for name in names)
