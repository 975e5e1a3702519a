"""What each parameter receives: tensors (type hints, dataflow, containers, speculation) and literals."""

from __future__ import annotations

from functools import cached_property
from math import prod
from typing import Final

from hybridize.domain.objects import NONE, Container, Inst, Lit, Obj, Prim, Stream, Tensor, Tup, Unknown, Value
from hybridize.domain.tensors import NDARRAY, SYMBOLIC, public_shape
from hybridize.facts.evidence import tells
from hybridize.facts.functions.causes import argument_slot, literal_field, origin
from hybridize.facts.functions.growing import is_growing_dim
from hybridize.facts.functions.looking import Looker, Seen
from hybridize.facts.functions.modes import is_traced_call, traced_frames
from hybridize.facts.gain.computation import training_step
from hybridize.facts.model import Evidence, Fact, Hybridization, ParameterFacts, Source, TensorType, Ternary, Told
from hybridize.facts.unknown.derived import TRAINED
from hybridize.facts.unknown.likely import Likely
from hybridize.flow.frames import Frame
from hybridize.flow.hints import HintReader, is_keras_call
from hybridize.flow.solve import method_kind
from hybridize.library import registry
from hybridize.library.defaults import holds_tensors
from hybridize.program import ir
from hybridize.program.code import Code, Param
from hybridize.program.index import index_of
from hybridize.source.roles import is_test_path

_MOST: Final = 8
#: So many different constants at the call sites are so many traces, which is no retracing without bound.
_FEW: Final = 4
#: So many combinations of flags are modes of use.
_MODES: Final = 2
_ITERATOR: Final = "tf.data.Iterator"
_DECLARED: Final = {
    Source.TYPE_HINT: "type hint of `{}` names a tensor type",
    Source.DOCSTRING: "the docstring says that `{}` is a tensor",
}


class Parameters:
    """The parameters of one function over its live frames."""

    def __init__(
        self,
        code: Code,
        frames: list[Frame],
        hints: HintReader,
        looker: Looker,
        likely: Likely,
        *,
        reached: bool,
        follow_hints: bool,
        speculate: bool,
        booleans: bool,
    ) -> None:
        self.code = code
        self.frames = frames
        self.looker = looker
        self.likely = likely
        self.hints = hints
        self.reached = reached
        self.follow_hints = follow_hints
        self.speculate = speculate
        self.booleans = booleans
        self.func = frames[0].func if frames else None
        kind = method_kind(self.func) if self.func is not None and code.in_class else "function"
        self.kind = kind
        self.skip_first = kind in ("method", "classmethod")
        self.assumptions: list[Evidence] = []
        self.facts = tuple(self._parameter(i, p) for i, p in enumerate(code.params))
        if speculate and not any(p.tensor is Ternary.YES for p in self.facts):
            self.facts = tuple(map(self._likely, self.facts))

    # Tensors ----------------------------------------------------------------------------------------------------------

    def _parameter(self, index: int, param: Param) -> ParameterFacts:
        if index == 0 and self.skip_first:
            return ParameterFacts(param.name, index, Ternary.NO)
        seen = Seen()
        for frame in self.frames:
            self.looker.add(frame.args[index], seen)
        called = self._calls_with_tensor(index)
        literals = tuple(sorted({repr(lit.const) for lit in seen.literals if self._counts(lit)}))[:_MOST]
        known = self.reached and seen.unknown is None and not seen.tensors
        declared = self._declared(param) if self.follow_hints and not known else None
        if declared is not None:
            types = _types(seen) if called else ()
            evidence = (Evidence(_DECLARED[declared].format(param.name), self.code.path, self.code.line),)
            return ParameterFacts(param.name, index, Ternary.YES, types, literals, declared, evidence)
        if called:
            return ParameterFacts(param.name, index, Ternary.YES, _types(seen), literals, Source.DATAFLOW, called)
        reason = self._speculated(index, seen)
        if reason is not None:
            return self._assumed(param.name, index, literals, reason)
        if (seen.unknown is not None or not self.frames) and not self._is_called(index):
            reason = seen.unknown or "no call was analyzed"
            evidence = (tells(Told.RECEIVES, self.code.path, self.code.line, param.name, reason),)
            return ParameterFacts(param.name, index, Ternary.UNKNOWN, (), literals, None, evidence)
        return ParameterFacts(param.name, index, Ternary.NO, (), literals)

    @cached_property
    def _present(self) -> list[tuple[Frame, int, list[Value]]]:
        """The calls of the program: those of callers that are gone only where a frame has no other."""
        return [
            (caller, pos, args)
            for frame in self.frames
            for caller, pos, args in frame.seen_calls()
            if not caller.gone or len(frame.incoming) == 1
        ]

    def _calls_with_tensor(self, index: int) -> tuple[Evidence, ...]:
        """Call sites of the program that pass a tensor to a parameter."""
        found: dict[tuple[str, int], tuple[Seen, Frame, int]] = {}
        for caller, pos, args in self._present:
            seen = self.looker.seen(args[index])
            if seen.tensors:
                found.setdefault((caller.code.path, pos >> 16), (seen, caller, pos))
        evidence: list[Evidence] = []
        for place in sorted(found)[:3]:
            seen, caller, pos = found[place]
            shown = min(map(repr, seen.tensors))
            message = f"called with a tensor for `{self.code.params[index].name}` ({shown})"
            evidence += [Evidence(message, *place), *self._cause(caller, pos, index)]
        return tuple(evidence)

    def _cause(self, caller: Frame, pos: int, index: int) -> tuple[Evidence, ...]:
        """The statement that makes what a call passes, where it is not the call itself."""
        bound = self.kind in ("method", "classmethod")
        slot = argument_slot(caller, pos, index, self.code.params[index].name, bound=bound)
        made = origin(caller, slot) if slot >= 0 else None
        if made is None or (made.path, made.line) == (caller.code.path, pos >> 16):
            return ()
        return (made,)

    def _declared(self, param: Param) -> Source | None:
        """Where the authors say that a parameter is a tensor, if they do."""
        if self.func is None:
            return None
        if param.annotation is None:
            return Source.DOCSTRING if self.hints.docs.value(self.code, param.name) else None
        return Source.TYPE_HINT if self.hints.is_tensor_hint(param.annotation, self.func) else None

    def _speculated(self, index: int, seen: Seen) -> str | None:
        """Why a parameter that no known value reaches counts as a tensor: Keras gives one, or its use asks for one."""
        if not self.speculate or self.func is None:
            return None
        determinate = seen.unknown is None and not seen.tensors and self.reached
        if index == 1 and not determinate and is_keras_call(self.func, self.hints.engine):
            return f"Keras passes tensors to `{self.code.qualname}`"
        use = self.hints.uses.of(self.func, index)
        if self.reached or not (seen.tensors and self._is_started_with_tensor(index)):
            # Calls pass what nobody knows: what it is used for must say what it is.
            if seen.unknown is None or seen.tensors or seen.literals:
                return None
            use = use or self.hints.uses.operand(self.func, index)
            if use is None:
                return None
        use = use or self.hints.uses.operand(self.func, index)
        named = self.code.params[index].name
        return f"`{named}` is given to {use}" if use else f"`{named}` is used as a tensor"

    def _likely(self, facts: ParameterFacts) -> ParameterFacts:
        """A parameter that is taken for a tensor by what the solved program does with it, or by what is promised."""
        name = facts.name
        if facts.index == 0 and self.skip_first:
            return facts
        if facts.tensor is Ternary.NO and self.reached:
            said = self._promised(facts.index)
        else:
            use = self.likely.of(self.code, facts.index)
            said = f"`{name}` is given to {use}" if use is not None else None
        return facts if said is None else self._assumed(name, facts.index, facts.literals, said)

    def _promised(self, index: int) -> str | None:
        """That a library or the authors say that others pass tensors, whatever the calls that are seen do."""
        param = self.code.params[index]
        if self.func is None:
            return None
        called = self.likely.called_back(self.func, index)
        if called is not None:
            return f"`{param.name}` is given to {called}"
        source = self._declared(param) if self.follow_hints else None
        if source is None or self._only_arrays_declared(param):
            return None
        return _DECLARED[source].format(param.name)

    def _assumed(self, name: str, index: int, literals: tuple[str, ...], said: str) -> ParameterFacts:
        """A parameter that is taken for a tensor, and why."""
        here = (self.code.path, self.code.line)
        self.assumptions.append(Evidence(f"`{name}` assumed to be a tensor: {said}", *here))
        return ParameterFacts(name, index, Ternary.YES, (), literals, Source.SPECULATION, (Evidence(said, *here),))

    def _is_started_with_tensor(self, index: int) -> bool:
        """Whether the caller that nobody knows is taken to pass a tensor."""
        return any(
            isinstance(obj, Tensor)
            for frame in self.frames
            for (caller, pos), args in frame.incoming.items()
            if caller is not None and frame.started_by(caller, pos)
            for obj in args[index]
        )

    def tensor_fact(self) -> Fact:
        """Whether some parameter likely receives tensors."""
        hits = [p for p in self.facts if p.tensor is Ternary.YES]
        if hits:
            return Fact(Ternary.YES, tuple(e for p in hits for e in p.evidence[:3]))
        iterated = next((p.name for p in self.facts if self._is_iterator(p.index)), None)
        if iterated is not None:
            said = "an iterator of a dataset, which a graph takes as it takes tensors"
            return Fact(Ternary.YES, (tells(Told.RECEIVES, self.code.path, self.code.line, iterated, said),))
        doubtful = [p for p in self.facts if p.tensor is Ternary.UNKNOWN]
        names = [p.name for i, p in enumerate(self.facts) if not (i == 0 and self.skip_first)]
        step = training_step(self.frames) if doubtful and self.speculate else None
        if step is not None:
            self.assumptions.append(
                Evidence(f"assumed to have tensor parameters: {step.message}", step.path, step.line)
            )
            return Fact(Ternary.YES, (step,))
        if doubtful:
            return Fact(Ternary.UNKNOWN, tuple(e for p in doubtful for e in p.evidence[:1]))
        if not names:
            return Fact(Ternary.NO, (Evidence("has no parameter", self.code.path, self.code.line),))
        return Fact(Ternary.NO, (Evidence("no call passes a tensor", self.code.path, self.code.line),))

    def only_arrays(self, computation: Ternary) -> Fact | None:
        """That all that counts for a tensor is a NumPy array: where TensorFlow does not compute, it stays one."""
        hits = [p for p in self.facts if p.tensor is Ternary.YES]
        if not hits or not all(self._is_array(p) for p in hits):
            return None
        if self.speculate and any(self.likely.of(self.code, p.index) for p in self.facts[self.skip_first :]):
            return None
        known = "nothing is computed" if computation is Ternary.NO else "nothing is known to be computed"
        said = f"`{hits[0].name}` takes NumPy arrays, with which {known} by TensorFlow"
        return Fact(computation, (Evidence(said, self.code.path, self.code.line), *hits[0].evidence[:2]))

    def _is_array(self, facts: ParameterFacts) -> bool:
        """Whether a parameter takes NumPy arrays, and no other tensor, by what is seen, else by what is declared."""
        if facts.tensor_types:
            return all(each.kind == NDARRAY for each in facts.tensor_types)
        return facts.source in _DECLARED and self._only_arrays_declared(self.code.params[facts.index])

    def _only_arrays_declared(self, param: Param) -> bool:
        """Whether hint or docstring speak of NumPy arrays, and of no other tensor."""
        if self.func is None:
            return False
        tensors = self.looker.seen(self.hints.declared(self.func, param)).tensors
        return bool(tensors) and all(each.kind == NDARRAY for each in tensors)

    def _is_called(self, index: int) -> bool:
        """Whether the function calls what it receives, or asks it for its trainable variables: it is no tensor.

        Not where the code asks first whether it may be called: else it may be a tensor or a number.
        """
        found, slot = index_of(self.code), self.code.params[index].slot
        asked = (made.owner for name in TRAINED for made in found.attributes.get(name, ()))
        for each in (*(call.function for call in found.of(ir.Call)), *asked):
            made = found.definitions.get(each)
            while isinstance(made, ir.Refine) and made.kind in ("none", "truth"):
                each = made.source
                made = found.definitions.get(each)
            if each == slot:
                return True
        return False

    def _is_iterator(self, index: int) -> bool:
        """Whether all that a parameter receives are iterators of datasets."""
        given = [obj for frame in self.frames for obj in frame.args[index]]
        return bool(given) and all(isinstance(obj, Stream) and obj.kind == _ITERATOR for obj in given)

    # Literals ---------------------------------------------------------------------------------------------------------

    def _counts(self, lit: Lit) -> bool:
        return lit.kind != "ellipsis" and (self.booleans or lit.kind != "bool")

    def primitive_fact(self) -> Fact:
        """The paper's notion: in some calling context all that reaches a parameter is a constant, or holds one."""
        evidence: list[Evidence] = []
        unknown: list[str] = []
        for index, param in enumerate(self.code.params):
            if index == 0 and self.skip_first:
                continue
            found = self._literal_calls(index)
            if found:
                evidence += found
                if len(evidence) >= _MOST:
                    break
            elif any(isinstance(o, Unknown) and not holds_tensors(o) for f in self.frames for o in f.args[index]):
                unknown += [] if self._is_called(index) else [param.name]
        if evidence:
            return Fact(Ternary.YES, tuple(evidence[:_MOST]))
        if not self.frames:
            return Fact(Ternary.UNKNOWN, (Evidence("no call was analyzed", self.code.path, self.code.line),))
        if unknown:
            place = (self.code.path, self.code.line)
            names = ", ".join(f"`{n}`" for n in unknown)
            if not self.speculate:
                return Fact(Ternary.UNKNOWN, (Evidence(f"not known what {names} receive", *place),))
            self.assumptions.append(Evidence(f"assumed that no literal is passed for {names}", *place))
        return Fact(Ternary.NO)

    def _literal_calls(self, index: int) -> list[Evidence]:
        """The calls that pass a literal for a parameter, as far as they are told."""
        param = self.code.params[index]
        if param.has_default and not any(frame.explicit >> index & 1 for frame in self.frames):
            return []  # its default is never overridden
        found: dict[Evidence, None] = {}  # contexts of one call say the same
        answers: dict[Value, bool] = {}
        for calls in self._sites:
            for caller, pos, args in calls:
                value = args[index]
                literal = answers.get(value)
                if literal is None:
                    literal = answers[value] = bool(value) and all(self._is_literal(o, 0) for o in value)
                if literal:
                    said = ", ".join(sorted({_literal_text(o) for o in value}))
                    found[tells(Told.RECEIVES, caller.code.path, pos >> 16, param.name, said)] = None
                    held = [e for e in map(literal_field, value) if e is not None]
                    found.update(dict.fromkeys(held[:1] or self._cause(caller, pos, index)))
                    if len(found) >= _MOST:
                        return list(found)
        return list(found)

    @cached_property
    def _sites(self) -> list[list[tuple[Frame, int, list[Value]]]]:
        """The calls of each frame, in the order of the files and lines they stand in."""
        found = []
        for frame in self.frames:
            found.append(sorted(frame.seen_calls(), key=lambda call: (call[0].code.path, call[1])))
        return found

    def _is_literal(self, obj: Obj, depth: int) -> bool:
        if isinstance(obj, Lit):
            return obj is not NONE and (obj.varies or self._counts(obj))
        if isinstance(obj, Prim):
            return obj.varies and obj.kind != "bool"
        if depth >= 2:
            return False
        if isinstance(obj, Tup):
            return any(item and all(self._is_literal(o, depth + 1) for o in item) for item in obj.items)
        if isinstance(obj, Container) or (isinstance(obj, Inst) and not registry.mro_names(obj)[:-1]):
            assert isinstance(obj, (Container, Inst))
            cells = list(obj.fields.values())
            return any(cell.value and all(self._is_literal(o, depth + 1) for o in cell.value) for cell in cells)
        return False

    def _growing(self, caller: Frame, pos: int, index: int, value: Value) -> Prim | Lit | None:
        """An int among the arguments that is a dim of a tensor which a loop makes longer."""
        ints = [o for o in value if isinstance(o, (Prim, Lit)) and o.kind == "int"]
        if not ints or not index_of(caller.code).of(ir.Loop):
            return None
        bound = self.kind in ("method", "classmethod")
        slot = argument_slot(caller, pos, index, self.code.params[index].name, bound=bound)
        return ints[0] if slot >= 0 and is_growing_dim(caller, slot) else None

    def retracing_fact(self, made: Hybridization | None = None) -> Fact:
        """Whether literals that differ from call to call reach a parameter, without bound: one trace for each.

        A few constants in the source (a mode, a flag, a size) are a few traces, and no more; and tests show what is
        accepted, not how often, but for floats that their loops make, which are data. `made` says how the function is
        hybrid: what `tf.function(f)` gives is traced, `f` itself is not.
        """
        traced = traced_frames(self.frames, made)
        only = made is not None and not made.is_decorator and _is_called_as_graph(traced)
        every = [(frame, *call) for frame in traced for call in frame.seen_calls()]
        calls = [call for call in every if is_test_path(self.code.path) or not is_test_path(call[1].code.path)]
        for index, param in enumerate(self.code.params):
            if index == 0 and self.skip_first:
                continue
            if made is None:
                drawn = next((call for call in every if self._is_data(call[1], call[2], call[3][index])), None)
                if drawn is not None:
                    said = "a Python float that differs from call to call"
                    place = (drawn[1].code.path, drawn[2] >> 16)
                    return Fact(Ternary.YES, (tells(Told.RECEIVES, *place, param.name, said),))
            distinct: dict[Lit, tuple[str, int]] = {}
            for frame, caller, pos, args in calls:
                if only and not is_traced_call(caller, pos, frame):
                    continue
                place = (caller.code.path, pos >> 16)
                varying = self.looker.varying(args[index]) or self._growing(caller, pos, index, args[index])
                if varying is not None:
                    said = f"a Python {varying.kind} that differs from call to call"
                    return Fact(Ternary.YES, (tells(Told.RECEIVES, *place, param.name, said),))
                for obj in args[index]:
                    if isinstance(obj, Lit) and obj is not NONE and obj.kind != "bool":
                        distinct.setdefault(obj, place)
            flags = self._flags(index, calls)
            if flags is not None:
                return Fact(Ternary.YES, (flags,))
            if len(distinct) > _FEW:
                chosen = sorted(distinct.items(), key=lambda item: item[1])[:_MOST]
                return Fact(Ternary.YES, tuple(tells(Told.RECEIVES, *at, param.name, repr(obj)) for obj, at in chosen))
        return Fact(Ternary.NO)

    def _is_data(self, caller: Frame, pos: int, given: Value) -> bool:
        """Whether a loop of a test passes floats that it makes: what takes these is not traced for a few settings."""
        if not is_test_path(caller.code.path) or pos not in index_of(caller.code).looped:
            return False
        varying = self.looker.varying(given)
        return varying is not None and varying.kind == "float"

    def _flags(self, index: int, calls: list[tuple[Frame, Frame, int, list[Value]]]) -> Evidence | None:
        """A list or tuple of truth values that calls pass in more than a few combinations."""
        combinations: dict[tuple[Value, ...], int] = {}
        place: tuple[str, int] | None = None
        for _, caller, pos, args in calls:
            for obj in args[index]:
                items = _truths(obj)
                if items is not None:
                    combinations[items] = prod(map(len, items))
                    place = max(place or ("", 0), (caller.code.path, pos >> 16))
        if place is None or sum(combinations.values()) <= _MODES:
            return None
        return tells(Told.RECEIVES, *place, self.code.params[index].name, "truth values in many combinations")


def _truths(obj: Obj) -> tuple[Value, ...] | None:
    """The items of a tuple or list, if they are more than one and all of them truth values."""
    if isinstance(obj, Tup):
        items = obj.items
    elif isinstance(obj, Container) and obj.kind == "list" and obj.exact and obj.rest is None:
        items = tuple(cell.value for cell in obj.fields.values())
    else:
        return None
    truths = all(item and all(isinstance(o, Lit) and o.kind == "bool" for o in item) for item in items)
    return items if truths and len(items) > 1 else None


def _is_called_as_graph(frames: list[Frame]) -> bool:
    return any(is_traced_call(c, p, frame) for frame in frames for c, p in frame.incoming if c is not None)


def _literal_text(obj: Obj) -> str:
    if isinstance(obj, Prim) or (isinstance(obj, Lit) and obj.varies):
        return f"a Python {obj.kind} that varies"
    if isinstance(obj, Lit):
        return f"the literal {obj!r}"
    if isinstance(obj, Container):
        return f"a {obj.kind} with a literal"
    return "a tuple with a literal" if isinstance(obj, Tup) else "an object with a literal"


def _types(seen: Seen) -> tuple[TensorType, ...]:
    types = {
        TensorType("dense" if t.kind == SYMBOLIC else t.kind, t.dtype, public_shape(t.shape)) for t in seen.tensors
    }
    return tuple(sorted(types, key=lambda t: (t.kind, t.dtype or "", str(t.shape))))
