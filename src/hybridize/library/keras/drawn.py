"""Functional models of a project's layers: a call of the model runs the `call` of each layer again.

`Model(x, Wrap()(x))` keeps which layers were applied, and to what. Symbolic tensors are told apart by their types
alone, so a model is given all layers that the function which makes it applied, itself or through others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from hybridize.domain.calls import How
from hybridize.domain.objects import BOTTOM, Cell, Inst, LibInst, Tup, Value, literal, tup
from hybridize.library.keras.modes import outer_training, takes_training
from hybridize.library.spec import Call

_APPLIED: Final = "$applied "
_TRAINING: Final = "training"
_FRAMES: Final = 100  # functions that are looked into for the layers of one model


def note_applied(call: Call, layer: Inst, args: list[Value], kwargs: Mapping[str, Value]) -> None:
    """Keeps that a layer of the project was applied to symbolic tensors, with the graph tensors in their place."""
    named = tup([*kwargs.values()], "tuple", tuple(kwargs)).value
    code = call.frame.code
    # One name for each place, wherever it is kept: models of models bring no new ones.
    name = f"{_APPLIED}{code.path}:{code.position}:{call.pos}"
    _write(call, name, tup([layer.value, tup(args).value, named]).value)


def note_reapplied(call: Call, model: Inst | LibInst) -> None:
    """Keeps that a functional model was applied to symbolic tensors, and so became a part of another one."""
    for name, value in _kept(call, model.cell(_APPLIED), model.fields):
        _write(call, name, value)


def keep_applied(call: Call, model: Inst | LibInst) -> None:
    """Gives a functional model its layers."""
    frames: dict[Any, None] = {call.frame: None}
    todo = [call.frame]
    for frame in todo:  # grows while it is read
        for name, value in _kept(call, _cell(frame, _APPLIED), frame.cells):
            call.write(model.cell(name), value)
            call.write(model.cell(_APPLIED), literal(name).value)
        for _, callee in list(frame.calls):
            if callee not in frames and len(frames) < _FRAMES and not callee.code.is_module:
                frames[callee] = None
                todo.append(callee)


def run_applied(call: Call, model: Inst | LibInst, how: How) -> None:
    """Runs the layers of a functional model on graph tensors; `how`: by Keras, or as a part of the graph of `fit`."""
    for _, value in _kept(call, model.cell(_APPLIED), model.fields):
        for each in value:
            if isinstance(each, Tup) and len(each.items) == 3:
                _run(call, each, how)


def _run(call: Call, applied: Tup, how: How) -> None:
    layers, given, named = applied.items
    for layer in layers:
        method = call.engine.attributes.find_method(call.frame, layer, "call") if isinstance(layer, Inst) else BOTTOM
        for args in given if method else ():
            for keywords in named:
                if isinstance(args, Tup) and isinstance(keywords, Tup):
                    kwargs = dict(zip(keywords.names or (), keywords.items, strict=True))
                    if _TRAINING not in kwargs and takes_training(method, len(args.items)):
                        mode = call.kwargs.get(_TRAINING) or outer_training(call.frame)
                        kwargs |= {_TRAINING: mode} if mode else {}
                    call.engine.calls.call_value(call.frame, call.pos, method, list(args.items), kwargs, how)


def _kept(call: Call, names: Cell, cells: Mapping[Any, Cell]) -> Iterator[tuple[str, Value]]:
    """What is kept; whoever asks is asked again when there is more."""
    call.read(names)
    for name, cell in list(cells.items()):
        if isinstance(name, str) and name.startswith(_APPLIED) and name != _APPLIED:
            yield name, call.read(cell)


def _cell(frame: Any, name: str) -> Cell:
    found = frame.cells.get(name)
    if found is None:
        found = frame.cells[name] = Cell()
    assert isinstance(found, Cell)
    return found


def _write(call: Call, name: str, value: Value) -> None:
    call.write(_cell(call.frame, name), value)
    call.write(_cell(call.frame, _APPLIED), literal(name).value)
