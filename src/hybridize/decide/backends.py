"""Which files of a program may run without TensorFlow: Keras takes another backend for them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Final

from hybridize.domain.objects import Class, Func, Lib, Mod, Value
from hybridize.tracing.views import ProjectView

_ROOT: Final = "tensorflow"
#: What Keras is asked for the backend by: `keras.backend.backend()`, `keras.config.backend()`.
_ASKED: Final = "backend("


class Backends:
    """The files that use TensorFlow by name, and those of the others that run on any backend of Keras."""

    def __init__(self, project: ProjectView) -> None:
        modules = list(project.solution.world.modules.values())
        keras = {mod.path for mod in modules if _names(mod, "keras")}
        self.tensorflow = {mod.path for mod in modules if _names(mod, "tf")}
        for module in project.solution.program.modules.values():
            path, text = module.code.path, "" if module.text is None else module.text.text
            if path in keras and _ASKED in text and _chooses(project.module(path)):
                self.tensorflow.discard(path)
            # Beside Keras a branch or function may import it for one of several backends: that counts for nothing.
            elif (
                _ROOT in text and path not in self.tensorflow and (path not in keras or _imports(project.module(path)))
            ):
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


def _chooses(module: ast.Module | None) -> bool:
    """Whether a module does one thing on one backend of Keras and something else on others, rather than to raise."""
    if module is None:
        return False
    keras = {name for name, origin in _origins(module) if origin.partition(".")[0] == "keras"}
    for node in ast.walk(module):
        if isinstance(node, (ast.If, ast.IfExp)) and any(_is_asked(each, keras) for each in ast.walk(node.test)):
            branches = [node.body, node.orelse] if isinstance(node, ast.If) else []
            if not any(branch and isinstance(branch[-1], ast.Raise) for branch in branches):
                return True
    return False


def _origins(module: ast.Module) -> Iterator[tuple[str, str]]:
    """The names that imports bind, each with what it is the name of."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from ((a.asname or a.name.partition(".")[0], a.name) for a in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((a.asname or a.name, f"{node.module}.{a.name}") for a in node.names)


def _is_asked(node: ast.AST, keras: set[str]) -> bool:
    """Whether an expression compares the backend of Keras 3 (that of `tf.keras` is always TensorFlow)."""
    if not isinstance(node, ast.Compare):
        return False
    calls = (each for each in [node.left, *node.comparators] if isinstance(each, ast.Call) and not each.args)
    names = (ast.unparse(call.func).split(".") for call in calls)
    return any(name[-1] == "backend" and name[0] in keras for name in names)


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
