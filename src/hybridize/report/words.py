"""The sentences that every kind of report shares: the verdict, what it rests on, and why not."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hybridize.decide.model import Action, Confidence, Finding, FunctionReport, Report, Status
from hybridize.facts.model import Evidence, FunctionFacts, Mode, ParameterFacts, TensorType, Ternary, Told
from hybridize.report.paths import line_of, place
from hybridize.report.style import one_line
from hybridize.source.versions import EAGER, Versions

_VERDICTS = {
    Action.CONVERT_TO_HYBRID: "to hybrid",
    Action.CONVERT_TO_EAGER: "to eager",
    Action.RECONFIGURE: "reconfigure",
}
_RESTS_ON = {
    Confidence.SEEN: "by its calls",
    Confidence.DECLARED: "as declared",
    Confidence.ASSUMED: "as assumed",
}
#: The preconditions of which the reason is what is traced again and again.
_TRACED_ANEW = ("P3", "P4")
_MOST_NAMES = 4
#: Of a chain of calls so many are named.
_MOST_HOPS = 3
#: A difference that rounds to this is none.
_SAME = 1.05


def verdict(function: FunctionReport) -> str:
    """What to do, in two words: `to hybrid`, `to eager`, `reconfigure`, `keep eager`, `keep hybrid`."""
    return _VERDICTS.get(function.decision.action) or f"keep {function.facts.mode.value}"


def change(report: Report, function: FunctionReport) -> str | None:
    """The change to the source in a sentence, or None where the function is kept."""
    from hybridize.domain.places import line_words  # not by commands that analyze nothing

    facts, cells = function.facts, dict(report.notebooks).get(function.facts.path)
    if function.decision.action is Action.CONVERT_TO_HYBRID:
        return edit(function, f" to the definition on {line_words(facts.line, cells=cells)}")
    hybridization = facts.hybridization
    return edit(function, f" on {line_words(hybridization.line, cells=cells)}" if hybridization else "")


def edit(function: FunctionReport, place: str = "") -> str | None:
    """The change without its place: "add `@tf.function`", "remove the decorator"; None where the function is kept."""
    decision, hybridization = function.decision, function.facts.hybridization
    arguments = ", ".join(f"{name}={value}" for name, value in decision.arguments)
    spelled = f"`@tf.function({arguments})`" if arguments else "`@tf.function`"
    if decision.action is Action.CONVERT_TO_HYBRID:
        return one_line(f"add {spelled}{place}")
    if decision.action is Action.CONVERT_TO_EAGER:
        what = "decorator" if hybridization is None or hybridization.is_decorator else "call of `tf.function`"
        return f"remove the {what}{place}"
    if decision.action is Action.RECONFIGURE:
        return one_line(f"make the decorator{place} {spelled}")
    return None


def gain(function: FunctionReport) -> str | None:
    """What is expected of the change in a sentence that names both sides; None where nothing is known or changed.

    Where a graph is removed although it is the faster one, what is gained is the time to trace it: no figure says it.
    """
    decision = function.decision
    if decision.benefit is None or decision.action in (Action.KEEP, Action.RECONFIGURE):
        return None
    if decision.action is Action.CONVERT_TO_EAGER and decision.benefit >= 1:
        return None
    return compared(decision.benefit)


def compared(benefit: float) -> str:
    """How fast the graph is beside eager code, the faster one first: a figure below 1 is never said."""
    percent = round(100 * (benefit - 1))
    if percent >= 2 and benefit < _SAME:
        return f"the graph is about {percent}% faster than eager code"
    if 1 / _SAME < benefit < _SAME:
        return "the graph is about as fast as eager code"
    if benefit >= 1:
        return f"the graph is about {_times(benefit)} times as fast as eager code"
    return f"eager code is {f'about {_times(1 / benefit)}' if benefit > 0 else 'many'} times as fast as the graph"


def _times(number: float) -> str:
    return f"{number:.1f}" if number < 100 else f"{number:,.0f}"


def cause(function: FunctionReport) -> str:
    """Why the change is right, in a line: what its precondition asks for, and what it is known from."""
    known = rests(function)
    sure = f", {known}" if known else ""
    return one_line(f"{_met(function)} ({function.decision.precondition or 'P0'}{sure})")


def promise(function: FunctionReport) -> str:
    """What is expected of the change, and why it is right, in a line for readers who see little else of it."""
    gained, known = gain(function), rests(function)
    return one_line(f"{f'{gained}; ' if gained else ''}{_met(function)}{f' ({known})' if known else ''}")


def rests(function: FunctionReport) -> str:
    """What it is known from that the change is right, in a word or two; empty where none is needed."""
    confidence = function.decision.confidence
    return "" if confidence is None else _RESTS_ON[confidence]


def _met(function: FunctionReport) -> str:
    facts, decision = function.facts, function.decision
    if decision.precondition in _TRACED_ANEW:
        met = next((step.message for step in facts.retraces.evidence), _literals_part(facts))
        return f"{met}: each is traced anew" if met else "its calls are traced again and again"
    if decision.precondition == "P2":
        return "no tensor reaches it: its graph does nothing for it"
    if decision.precondition == "P6":
        return "computes nothing with TensorFlow"
    tensors = [p for p in facts.parameters if p.tensor is Ternary.YES]
    article = "a " if len(tensors) == 1 else ""
    taken = f"takes {article}{_named('tensor', tensors)}" if tensors else _parameters_part(facts)
    no_effect = facts.python_side_effects.value is Ternary.NO
    return f"{taken}, no {'side effect or ' if no_effect else ''}retracing"


def summary_of_facts(facts: FunctionFacts) -> str:
    """What a decision rests on, in a line: `eager, tensor parameters (images, labels), no literal, no side effect`."""
    parts = [
        facts.mode.value,
        _parameters_part(facts),
        _literals_part(facts),
        _ternary_part(facts.python_side_effects.value, "side effects", "no side effect", "side effects unknown"),
        _ternary_part(facts.recursive.value, "recursive", "", ""),
        _ternary_part(facts.tensor_computation.value, "", "no tensor computation", ""),
        "" if facts.reached else "unreached",
    ]
    return one_line(", ".join(part for part in parts if part))


def rests_on(function: FunctionReport) -> str:
    """The precondition that passes, if one does, and the facts in a line."""
    decision = function.decision
    if decision.precondition is None:
        return grounds(function)
    kept = " passes, left out" if decision.action is Action.KEEP else ""
    return f"{decision.precondition}{kept}: {grounds(function)}"


def told_by(said: Status | Finding) -> tuple[Evidence, ...]:
    """The evidence of a status or finding, without a first step that says the same of the same place again."""
    chain = steps(said.evidence)
    again = bool(chain) and (chain[0].message, chain[0].path, chain[0].line) == (said.message, said.path, said.line)
    return chain[1:] if again else chain


def grounds(function: FunctionReport) -> str:
    """The facts in a line, with what is expected of a change."""
    text = summary_of_facts(function.facts)
    gained = gain(function)
    if gained is not None:
        text += f", {gained}"
    if function.decision.action is Action.CONVERT_TO_HYBRID and (known := rests(function)):
        text += f", {known}"
    return text


def sentence(function: FunctionReport) -> str:
    """What to do, as a sentence: "convert `f` to hybrid", "keep `f` eager"."""
    name = one_line(function.facts.qualname)
    if function.decision.action is Action.KEEP:
        return f"keep `{name}` {function.facts.mode.value}"
    if function.decision.action is Action.RECONFIGURE:
        return f"reconfigure `{name}`"
    return f"convert `{name}` {verdict(function)}"


def reason(status: Status, facts: FunctionFacts, display: Callable[[str], str]) -> str:
    """The shortest useful text of a status: what, where, and through which calls."""
    chain = _first_chain(status, facts)
    last = chain[-1] if chain else Evidence(status.message, status.path, status.line)
    text = status.message
    if last.message not in text:
        text = f"{text}: {last.message}"
    place = place_of(last, facts, display)
    if place and place not in text:
        text += f" ({place})"
    return one_line(text + through(chain[:-1]))


def through(chain: Iterable[Evidence]) -> str:
    """The calls that lead along a chain, each once and the longest chain in three: ", through `a` -> ... -> `z`"."""
    names = [f"`{name}`" for name in dict.fromkeys(step.subject for step in chain if step.told is Told.CALL) if name]
    if len(names) > _MOST_HOPS:
        names = [*names[: _MOST_HOPS - 1], "...", names[-1]]
    return f", through {' -> '.join(names)}" if names else ""


def steps(chain: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """The steps of a chain, each once: what calls itself comes by the same places again."""
    return tuple(dict.fromkeys(chain))


def _first_chain(status: Status, facts: FunctionFacts) -> tuple[Evidence, ...]:
    """The evidence of a status up to the cause that its message names.

    Side effects have a chain each, one behind the other, and the message is that of the first; other evidence is one.
    """
    effects = [facts.python_side_effects] + ([facts.tracing_effects] if facts.tracing_effects else [])
    if status.evidence and any(status.evidence == fact.evidence for fact in effects):
        ends = (place for place, step in enumerate(status.evidence, 1) if step.told is not Told.CALL)
        return status.evidence[: next(ends, len(status.evidence))]
    return status.evidence


def place_of(evidence: Evidence, facts: FunctionFacts, display: Callable[[str], str]) -> str:
    """Where a cause is, as seen from the function: empty for its `def`, `line 88` in its file, else `file:88`."""
    if evidence.path == facts.path:
        line = line_of(display, evidence.path, evidence.line)
        return "" if evidence.line in (facts.line, 0) else line if line.startswith("cell") else f"line {line}"
    return place(display, evidence.path, evidence.line)


def tensor_type(kind: TensorType) -> str:
    """A tensor type as text: `dense float32 [?, 28, 28]`, with `?` for what is unknown."""
    shape = "[...]" if kind.shape is None else f"[{', '.join('?' if d is None else str(d) for d in kind.shape)}]"
    return one_line(f"{kind.kind} {kind.dtype or '?'} {shape}")


def speed(report: Report) -> str:
    """Files, size and time: `57 files, 12.3 KLOC, 0.84 s`."""
    project = report.project
    kloc = project.lines / 1000
    return f"{counted(project.files, 'file')}, {kloc:.1f} KLOC, {project.seconds:.2f} s"


def release(number: tuple[int, int]) -> str:
    """A release as text: `2.15`."""
    return ".".join(map(str, number))


def releases(versions: Versions) -> str:
    """What a project may run on, and who says so: `TensorFlow 2.15, any from 2.9 to 2.15 (setup.py:9), Keras 2`."""
    text = f"TensorFlow {release(versions.tensorflow)}"
    if versions.oldest < versions.newest:
        text += f", any from {release(versions.oldest)} to {release(versions.newest)}"
    kerases = " or ".join(str(major) for major in (2, 3) if versions.may_have_keras(major))
    text = f"{text} ({versions.source}), Keras {kerases}"
    if versions.oldest < EAGER:
        text += ": nothing is converted by default, since sessions run TensorFlow 1"
    return one_line(text)


def counted(number: int, noun: str) -> str:
    """`1 file`, `1,203 files`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _ternary_part(value: Ternary, yes: str, no: str, unknown: str) -> str:
    return {Ternary.YES: yes, Ternary.NO: no, Ternary.UNKNOWN: unknown}[value]


def _parameters_part(facts: FunctionFacts) -> str:
    tensors = [p for p in facts.parameters if p.tensor is Ternary.YES]
    if facts.tensor_parameter.value is Ternary.NO:
        updates = facts.updates_variables.value is Ternary.YES
        reads = facts.reads_variables.value is Ternary.YES
        makes = ", makes tensors" if facts.makes_tensors.value is Ternary.YES else ""
        state = ", updates variables" if updates else ", computes with variables" if reads else makes
        return f"no tensor parameter{state}"
    if facts.tensor_parameter.value is Ternary.UNKNOWN:
        return "tensor parameters unknown"
    return _named("tensor parameter", tensors)


def _literals_part(facts: FunctionFacts) -> str:
    if facts.primitive_parameter.value is Ternary.YES:
        return _named("primitive parameter", [p for p in facts.parameters if p.literals])
    if facts.retraces.value is Ternary.YES:  # by calls of code that nobody is seen to reach, say
        return "a literal that differs from call to call"
    # What a hybrid function without tensors does with its literals decides nothing.
    if facts.mode is Mode.HYBRID and facts.tensor_parameter.value is Ternary.NO:
        return ""
    return _ternary_part(facts.primitive_parameter.value, "", "no literal", "literals unknown")


def _named(noun: str, parameters: Iterable[ParameterFacts]) -> str:
    names = [parameter.name for parameter in parameters]
    if not names:
        return noun
    shown = ", ".join(names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")
    return f"{noun}{'' if len(names) == 1 else 's'} ({shown})"
