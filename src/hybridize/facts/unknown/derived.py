"""What tapes, optimizers and callers show of what a call gives: that TensorFlow has computed it.

Eagerly a tape sees operations of TensorFlow alone, so that what it derives has been computed with these.
"""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import Func, Lib
from hybridize.domain.session import cached
from hybridize.facts.unknown.foreign import is_given
from hybridize.flow.frames import Frame
from hybridize.library import costs
from hybridize.library.asking import assigns
from hybridize.program import ir
from hybridize.program.code import Code
from hybridize.program.index import Index, index_of
from hybridize.program.ir import Instr
from hybridize.program.operands import arguments, operands

#: What only models, layers and modules have.
TRAINED: Final = frozenset({"trainable_variables", "trainable_weights"})
#: How a value is made of others that a tape sees through.
_COMPUTED: Final = (ir.Operator, ir.Unary, ir.Phi, ir.Sequence, ir.Part, ir.BoolOp)
_MINIMIZE: Final = "minimize"
#: The method of the optimizers of other packages, as of Keras 3: `optimizer.apply(gradients, variables)`.
_APPLY: Final = "apply"
#: What an assignment to a variable is told beside the value.
_SETTINGS: Final = frozenset({"use_locking", "name", "read_value"})
#: So many calls lead from a helper to the tape that derives what it gives.
_CALLS: Final = 3


def is_derived(frame: Frame, position: int, far: int = _CALLS) -> bool:
    """Whether a tape takes gradients of what a call gives, by whatever is computed of it: here, or in some caller.

    Eagerly a tape only sees operations of TensorFlow: what it derives has been computed with these.
    """
    index = index_of(frame.code)
    taken = [pos for pos, name in frame.ops.items() if name in costs.TAKES_GRADIENTS]
    derived = [call.arguments[0][0] for pos in taken for call in index.calls.get(pos, ()) if call.arguments]
    derived += [
        slot for pos in taken for call in index.calls.get(pos, ()) for key, slot in call.keywords if key == "target"
    ]
    derived += [call.arguments[0][0] for call in index.of(ir.Call) if call.arguments and _takes_tape(index, call)]
    if _is_part(index, position, derived):
        return True
    if not far or not frame.incoming or not _is_part(index, position, [made.value for made in index.of(ir.Return)]):
        return False
    return any(_derives(frame, caller, pos, far) for caller, pos in frame.incoming if caller is not None)


def _takes_tape(index: Index, call: ir.Call) -> bool:
    """Whether an optimizer is given a loss with the tape that has seen it: `minimize(loss, variables, tape=tape)`."""
    made = index.source(call.function)
    return isinstance(made, ir.Attr) and made.name == _MINIMIZE and any(key == "tape" for key, _ in call.keywords)


def is_returned(frame: Frame, position: int, far: int = _CALLS) -> bool:
    """Whether what a call gives is given back, by itself or computed with, and operations of a caller compute on it."""
    index = index_of(frame.code)
    if not far or not _is_part(index, position, [made.value for made in index.of(ir.Return)]):
        return False
    return any(
        caller is not None
        and not caller.gone
        and (is_given(caller, index_of(caller.code).calls.get(pos, ())) or is_returned(caller, pos, far - 1))
        for caller, pos in frame.incoming
    )


def _derives(frame: Frame, caller: Frame, position: int, far: int) -> bool:
    """Whether one call of a frame is for its derivative: an optimizer's, that of a loss, or one below a tape."""
    if caller.gone or frame.started_by(caller, position):
        return False
    return costs.differentiates(caller.ops.get(position, "")) or is_derived(caller, position, far - 1)


def _is_part(index: Index, position: int, slots: list[int]) -> bool:
    """Whether some values are computed of what a call gives."""
    return any(isinstance(m, ir.Call) and m.position == position for _, m in index.upstream(slots, _made_of))


def _made_of(made: Instr) -> list[int]:
    """What operators, or a call, make a value of; not what the call is a method of."""
    if isinstance(made, ir.Call):
        return arguments(made)
    return operands(made) if isinstance(made, _COMPUTED) else []


def gets_gradients(frame: Frame, position: int) -> bool:
    """Whether a call of a function that takes gradients is given pairs with the variables of a model.

    Or these gradients and something else, in a method that optimizers have for it; or the variables, to minimize by.
    """
    if _minimizes(frame, position):
        return True
    if not any(costs.differentiates(name) for name in frame.ops.values()):
        return False
    index = index_of(frame.code)
    calls = index.calls.get(position, ())
    if any(_pairs(frame, index.source(slot)) for call in calls for slot, _ in call.arguments):
        return True
    return bool(calls) and all(_applies(frame, index, call) for call in calls)


def _minimizes(frame: Frame, position: int) -> bool:
    """Whether a call is `x.minimize(loss, variables)`, of the trainable variables of something."""
    index = index_of(frame.code)
    calls = index.calls.get(position, ())
    made = [index.source(call.function) for call in calls]
    if not made or not all(isinstance(each, ir.Attr) and each.name == _MINIMIZE for each in made):
        return False
    return all(any(slot >= 0 and _is_of_variables(index, slot) for slot in arguments(call)) for call in calls)


def _applies(frame: Frame, index: Index, call: ir.Call) -> bool:
    """Whether a call is `x.apply(gradients, variables)`, of what a tape has derived."""
    made = index.source(call.function)
    if not isinstance(made, ir.Attr) or made.name != _APPLY or len(call.arguments) + len(call.keywords) < 2:
        return False
    given = [slot for slot, _ in call.arguments[:1]] or [slot for _, slot in call.keywords[:1]]
    return any(_is_part(index, pos, given) for pos, name in frame.ops.items() if name in costs.TAKES_GRADIENTS)


def _pairs(frame: Frame, made: Instr | None) -> bool:
    """Whether an instruction zips something with trainable variables."""
    if not isinstance(made, ir.Call):
        return False
    if not any(isinstance(o, Lib) and o.name == "builtins.zip" for o in frame.vals[made.function] or ()):
        return False
    return any(_is_of_variables(index_of(frame.code), slot) for slot, _ in made.arguments)


def trained(index: Index, call: ir.Call, slot: int) -> bool:
    """Whether a call deals out what is in a slot beside trainable variables, or beside what is assigned to: a list."""
    beside = any(_is_of_variables(index, each) for each in arguments(call) if each not in (slot, -1))
    return beside or any(
        isinstance(use, ir.Iter) and holds_assigned(index, use.target) for use in index.uses.get(call.target, ())
    )


def holds_assigned(index: Index, slot: int) -> bool:
    """Whether what is in a slot, or what it is taken apart into, is assigned to as variables are."""
    todo = [slot]
    for each in todo:
        for use in index.uses.get(each, ()):
            if isinstance(use, ir.Unpack):
                todo += use.targets
            elif isinstance(use, ir.Attr) and any(is_assignment(index, call) for call in _calls(index, use.target)):
                return True
    return False


def is_assignment(index: Index, call: ir.Call) -> bool:
    """Whether a call is `x.assign(value)`, where the value is computed of `x`, as it is of variables alone.

    Frames of pandas take keywords; tasks are assigned to somebody else.
    """
    read = index.source(call.function)
    if not isinstance(read, ir.Attr) or not assigns(read.name) or len(call.arguments) != 1 or call.arguments[0][1]:
        return False
    owner = index.original(read.owner)
    of_itself = any(index.original(slot) == owner for slot, _ in index.upstream([call.arguments[0][0]], _made_of))
    return of_itself and _SETTINGS.issuperset(name for name, _ in call.keywords)


def _calls(index: Index, slot: int) -> list[ir.Call]:
    return [use for use in index.uses.get(slot, ()) if isinstance(use, ir.Call) and use.function == slot]


def _is_of_variables(index: Index, slot: int) -> bool:
    """Whether a slot holds trainable variables, or a sum of lists of them."""
    made = index.source(slot)
    if isinstance(made, ir.Binary):
        return _is_of_variables(index, made.left) or _is_of_variables(index, made.right)
    return isinstance(made, ir.Attr) and made.name in TRAINED


@cached
def trained_fields(cls: Code | None) -> frozenset[str]:
    """The fields whose trainable variables the methods of a class ask for."""
    found: set[str] = set()
    for code in cls.children if cls is not None else ():
        index = index_of(code)
        for name in TRAINED:
            found.update(field_read(code, index.source(read.owner)) for read in index.attributes.get(name, ()))
    return frozenset(found - {""})


def classes_of(func: Func) -> list[Code]:
    """The class of a method and its bases, as far as the project has them."""
    return [cls.code for cls in func.owner.line] if func.owner is not None else []


def field_read(code: Code, made: Instr | None) -> str:
    """The field of the receiver that an instruction reads; empty for anything else."""
    own = isinstance(made, ir.Attr) and bool(code.params) and index_of(code).original(made.owner) == code.params[0].slot
    return made.name if own and isinstance(made, ir.Attr) else ""
