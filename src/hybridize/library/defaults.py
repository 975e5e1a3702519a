"""What happens where no model says: attributes of modules, calls without a rule, items of library values.

A TensorFlow operation without a rule gives a tensor of unknown shape and has no Python effect; a NumPy function gives
an array; a class gives an instance. Code of unknown libraries gives an unknown value, and whether it has effects is
unknown too.
"""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import (
    BOTTOM,
    INT_V,
    NONE,
    Bound,
    Class,
    Func,
    Lib,
    LibInst,
    Lit,
    Prim,
    Stream,
    Tensor,
    Unknown,
    Value,
    Wrapper,
    lib,
    prim,
    stream,
    tensor,
    unknown,
    unknown_result,
)
from hybridize.domain.session import cached
from hybridize.domain.tensors import DENSE, NDARRAY, Shape
from hybridize.domain.unknowns import ATTRIBUTE, ELEMENT, Why
from hybridize.library import registry
from hybridize.library.constants import CONSTANTS
from hybridize.library.index import Entry, known_package, lookup
from hybridize.library.no_tensors import gives_no_tensors
from hybridize.library.python.constants import OPEN_ATTRIBUTES, OPEN_ITEMS
from hybridize.library.slicing import sliced_tensor
from hybridize.library.spec import Call
from hybridize.program.builder import position
from hybridize.regex import regex

_TENSOR: Final = tensor(DENSE).value
_DTYPE: Final = "tf.dtypes.DType."
_ARRAY: Final = tensor(NDARRAY).value
#: Sequences of unknown length of which a slice is one, too.
_SLICED: Final = frozenset({"tuple", "TensorShape"})

#: Modules inside Keras that projects import all the same, and whose every function computes.
_OPERATIONS: Final = ("keras.src.backend.math.", "keras.src.backend.numpy.", "keras.src.backend.nn.")
_OF_DATASET: Final = regex(r"^(?:an element|an example|a batch) of a (?:\w+ )?dataset$")
#: What is drawn from a joint distribution, as the library's model of it says.
OF_JOINT: Final = "a sample of a joint distribution"
_OF_SAMPLE: Final = regex(rf"^(?:{ELEMENT} of |{ATTRIBUTE} of )*{OF_JOINT}$")


def library_module(name: str) -> Value:
    """The value of an imported module that is not the project's."""
    return lib(registry.normalize(name)).value


@cached
def library_attribute(owner: str, name: str, *, only_known: bool = False) -> Value:
    """An attribute of a library module or class; bottom where `only_known` and the index does not have it."""
    full = registry.normalize(f"{owner}.{name}")
    if only_known:
        known = registry.is_listed(full) or (known_package(full) and lookup(full) is not None)
        if not known:
            return BOTTOM
    constant = CONSTANTS.get(full)
    if constant is not None:
        return constant
    option = OPEN_ATTRIBUTES.get(owner)
    if option is not None and not registry.is_listed(full) and name not in ("append_flag_values", "mark_as_parsed"):
        return option
    if known_package(full) and owner not in ("tf", "keras", "np"):
        entry = lookup(full)
        if entry is not None and entry.kind == "property":
            from hybridize.library.tensorflow.members import dtype_member, member

            found = dtype_member(owner, name) if entry.name.startswith(_DTYPE) else member(*entry.name.rsplit(".", 1))
            return found or unknown(f"a property of {owner}").value
    return lib(full).value


def default_call(call: Call) -> Value:
    """The result of a call of a library function or class without a rule of its own."""
    name = call.name
    if known_package(name):
        return _known_call(call, name)
    if registry.class_spec(name) is not None:
        rule = registry.make_rule(name)
        made: Value = rule(call) if rule is not None else keep_arguments(call).value
        return made
    if registry.is_class(name) and registry.root_of(name) in ("builtins", "collections", "typing"):
        return call.made(name).value
    last = name.rpartition(".")[2]
    if registry.root_of(name) == "builtins":
        if last[:1].isupper():
            return call.made(name).value
        return unknown_result(last).value
    if len(call.args) == 1 and not call.kwargs and is_wrapped(call.args[0], call.pos):
        return call.args[0]  # an unknown decorator: what it wraps is called all the same
    call.effect("foreign_call", name)
    call.engine.calls.escape(call.frame, list(call.args), call.kwargs, call.pos)
    if last[:1].isupper():
        return call.made(name).value
    return unknown_result(name).value


def _known_call(call: Call, name: str) -> Value:
    if registry.is_class(name):
        rule = registry.make_rule(name)
        if rule is not None:
            made: Value = rule(call)
            return made
        return keep_arguments(call).value
    root = registry.root_of(name)
    if root == "np" and not gives_no_tensors(name):
        if name.count(".") == 1 and lookup(name) is None and not registry.is_listed(name):
            call.effect("foreign_call", name)  # no member of NumPy: of something that goes by its name
        return _ARRAY
    if gives_no_tensors(name):
        return unknown_result(name).value
    entry = lookup(name)
    if entry is None and name.startswith(_OPERATIONS):
        call.frame.computes(call.pos, name)
        return _TENSOR
    if entry is None or entry.kind == "module":
        call.effect("foreign_call", name)
        return unknown_result(name).value
    if entry.name.startswith(_DTYPE):
        return of_member(entry) or unknown_result(name).value
    call.frame.computes(call.pos, name)
    return _TENSOR


def of_member(entry: Entry | None) -> Value | None:
    """What a member of a class gives, where the tables say so."""
    from hybridize.library.tensorflow.members import member

    return None if entry is None else member(*entry.name.rsplit(".", 1))


def keep_arguments(call: Call, cls: str = "") -> LibInst:
    """An instance of a library class that keeps its arguments by parameter name."""
    name = cls or call.name
    inst = call.made(name)
    names = registry.parameter_names(name)
    for i, value in enumerate(call.args):
        call.keep(inst, names[i] if i < len(names) else f"argument {i}", value)
    for key, value in call.kwargs.items():
        call.keep(inst, key, value)
    return inst


def is_wrapped(value: Value, pos: int) -> bool:
    """Whether what code that nobody knows is given alone is a definition that it decorates, and so gives back.

    It does where it stands in front of the definition, and mostly where a function with parameters is passed. What has
    none, and any lambda, is there to be run: `run(lambda: step(batch))` gives what the step gives.
    """
    return bool(value) and all(isinstance(o, (Func, Class)) and _comes_back(o, pos) for o in value)


def _comes_back(obj: Func | Class, pos: int) -> bool:
    if isinstance(obj, Class) or any(position(node) == pos for node in obj.code.decorators):
        return True
    return not obj.code.is_lambda and any(not param.has_default for param in obj.code.params)


def unknown_method(call: Call) -> Value:
    """A method without a model: harmless on known libraries, unknown on others."""
    receiver = call.receiver
    cls = call.name.rpartition(".")[0]
    if isinstance(receiver, Unknown):
        call.effect("unknown_call", call.name)
    elif isinstance(receiver, LibInst) and not _is_known(receiver.cls):
        call.effect("foreign_call", call.name, receiver)
        call.engine.calls.escape(call.frame, list(call.args), call.kwargs, call.pos)
    elif isinstance(receiver, Tensor):
        return tensor(receiver.kind if receiver.kind == NDARRAY else DENSE).value
    elif known_package(cls):
        return of_member(lookup(call.name)) or unknown_result(call.name).value
    else:
        call.effect("unknown_call", call.name, receiver)
    return unknown_result(call.name).value


def _is_known(cls: str) -> bool:
    """Whether a class is one of a known library: what its modules have besides may do anything."""
    return known_package(cls) and (lookup(cls) is not None or registry.class_spec(cls) is not None)


def holds_tensors(obj: Unknown) -> bool:
    """Whether nothing but the structure is unknown: an element of a dataset, or a sample, is made of tensors."""
    return _is_element(obj) or _OF_SAMPLE.match(obj.reason) is not None


def _is_element(obj: Unknown) -> bool:
    return _OF_DATASET.match(obj.reason) is not None


def operator_item(call: Call) -> Value:
    """`obj[index]` (`call.name` "getitem") or an element (`iter`) of a value that is no project container."""
    obj = call.receiver
    match obj:
        case Tensor():
            if call.name == "iter":
                shape: Shape = obj.shape[1:] if obj.shape else None
                kind = DENSE if obj.kind == "variable" else obj.kind
                return tensor(kind, obj.dtype, shape).value
            call.frame.computes_else(call.pos, "tf.getitem") if obj.kind != NDARRAY else None
            return sliced_tensor(call, obj, call.arg(0))
        case Lit(kind="str") | Prim(kind="str"):
            return prim("str").value
        case Lit(kind="bytes") | Prim(kind="bytes"):
            return INT_V
        case LibInst():
            found = registry.method_spec(obj.cls, "__getitem__" if call.name == "getitem" else "__iter__")
            if found is not None and found[1].rule is not None:
                return found[1].rule(call)
            return unknown(f"an element of {obj.cls}", Why.PART).value
        case Stream():
            sliced = call.name == "getitem" and any(isinstance(o, Wrapper) and o.kind == "slice" for o in call.arg(0))
            return stream(obj.kind, obj.element).value if sliced and obj.kind in _SLICED else obj.element
        case Unknown():
            # A dataset holds nothing but tensors, in whatever structure.
            return tensor(DENSE).value if _is_element(obj) else obj.part(ELEMENT)
        case Lib() if obj.name.startswith("np."):
            from hybridize.library.numpy.indexing import indexed

            return indexed(Call(call.engine, call.frame, call.pos, obj.name, call.args, {}))
        case Lib():
            return OPEN_ITEMS.get(obj.name) or unknown(f"an element of {obj.name}", Why.PART).value
        case Bound():
            return unknown("an element of a method's result", Why.PART).value
        case _ if obj is NONE:
            return BOTTOM
    return unknown("an element").value


def context_value(call: Call) -> Value:
    """What `with x as y` binds for a library object: mostly the object itself."""
    obj = call.receiver
    if isinstance(obj, LibInst):
        found = registry.method_spec(obj.cls, "__enter__")
        if found is not None:
            for effect in found[1].effects:
                call.effect(effect, obj.cls)
            if found[1].rule is not None:
                return found[1].rule(call)
        return obj.value
    if isinstance(obj, Unknown):
        call.effect("unknown_call", obj.reason, obj)
        return obj.part("a context")
    return obj.value if obj is not None else BOTTOM
