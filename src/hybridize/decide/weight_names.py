"""Whether a program asks how weights are called: for a name, in a file of HDF5, or by TensorFlow 1's `Saver`.

Measured with TensorFlow 2.15: models of which one has lost the scopes in its weights' names read each other's
checkpoints and files of HDF5; but such a file takes no two weights of one name below one layer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Lit, Tensor, Unknown
from hybridize.domain.tensors import VARIABLE
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.program.lowering import walk_codes
from hybridize.tracing.views import ProjectView

#: What tells names: a weight's, and its path (Keras 3).
_NAMES: Final = ("name", "path", "_handle_name", "_shared_name")
#: What goes by the names of weights: a keyword, and classes of TensorFlow 1.
_BY_NAME: Final = "by_name"
_SAVERS: Final = frozenset({"Saver", "list_variables", "init_from_checkpoint", "get_variable_to_shape_map"})
#: Files in which weights have names.
_FILES: Final = (".h5", ".hdf5")


def asks_for_names(project: ProjectView) -> bool:
    """Whether some code of the program, its tests included, may read the names of weights."""
    return project.shared("asks for names of weights", lambda: any(map(bool, _asking(project))))


def _asking(project: ProjectView) -> Iterator[bool]:
    known = project.solution.frames
    for module in project.solution.program.modules.values():
        for code in walk_codes(module.code):
            index = index_of(code)
            yield not _SAVERS.isdisjoint(index.attributes) or any(_is_file(code))
            yield any(name == _BY_NAME for call in index.of(ir.Call) for name, _ in call.keywords)
            for read in (each for name in _NAMES for each in index.attributes.get(name, ())):
                frames = known.get(code, ())
                yield any(_may_be_weight(frame, read.owner) for frame in frames) if frames else not _is_own(code, read)


def _is_file(code: Code) -> Iterator[bool]:
    """For each text of a code, whether it may be the name of such a file."""
    for value in code.template:
        yield any(isinstance(o, Lit) and isinstance(o.const, str) and o.const.endswith(_FILES) for o in value or ())


def _may_be_weight(frame: Frame, slot: int) -> bool:
    """Whether a slot holds a variable, or what nobody knows and is no field: an argument, or an element."""
    value = frame.vals[slot] or frozenset()
    if any(isinstance(o, Tensor) and o.kind == VARIABLE for o in value):
        return True
    made = index_of(frame.code).source(slot)
    return any(isinstance(o, Unknown) for o in value) and not isinstance(made, (ir.Attr, ir.Call))


def _is_own(code: Code, read: ir.Attr) -> bool:
    """Whether code that nothing runs reads it of its first argument (`self.name`), or of a field."""
    index = index_of(code)
    own = bool(code.params) and index.original(read.owner) == code.params[0].slot and code.in_class
    return own or isinstance(index.source(read.owner), ir.Attr)
