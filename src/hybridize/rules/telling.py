"""How loudly hits are told: of functions that are hybrid already what a person can act on, as errors and warnings.

A hit keeps a function eager wherever it may be right. Of a function that somebody has decorated, and has run since, it
is told as an error or a warning only where nothing speaks against it; the rest is information. Of that, too, programs
that are not followed in detail are told only what nothing speaks against (`Against`): of the hits that were read there
none was true that runs show not to happen, that no run comes to, or that rests on calls that were taken together.

Of an eager function each hit says as much: one that nothing speaks against decides without the rest (`Status.against`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import NONE, Lib, Tensor, lib
from hybridize.facts.model import Against, Ternary
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of, instructions
from hybridize.program.ir import Instr
from hybridize.program.operands import operands
from hybridize.records import replace
from hybridize.rules.model import Level, Outcome, RuleHit
from hybridize.rules.optional import is_optional
from hybridize.rules.unreached import is_unreached
from hybridize.tracing.failing.behind import is_behind_failure
from hybridize.tracing.failing.raising import is_passed_over
from hybridize.tracing.running.certain import is_called
from hybridize.tracing.running.switches import is_of_switching_objects, switched_off, switches
from hybridize.tracing.running.untried import is_never_made, is_never_run, is_seen_called, is_shown_to_raise
from hybridize.tracing.state.staleness import extent_of
from hybridize.tracing.views import FrameView, FunctionView

#: What a value is read from that other code has put there: what differs there differs by object or call, not by branch.
_READ: Final = frozenset({ir.Attr, ir.Item, ir.Global, ir.Cell, ir.Call})
#: What raises wherever it stands: methods that only eager tensors have, functions that work only eagerly.
_PLAIN: Final = frozenset({"HY301", "HY302", "HY303"})
#: What no run shows, and is so in each that comes there: a setting around it only says that not all do.
_SILENT: Final = frozenset({"HY203", "HY252", "HY602"})
#: Rules that were wrong of unread code more often than right, over all readings (docs/findings.md): what they say of a
#: function that somebody has decorated, and has run since, has mostly been seen not to happen, or is meant so.
_SELDOM: Final = frozenset(f"HY{n}" for n in (310, 341, 344, 352))
#: Functions that ask what something is.
_KINDS: Final = frozenset({"tf.is_tensor", "tf.is_symbolic_tensor", "builtins.isinstance", "builtins.hasattr"})
_DEPTH: Final = 6
#: Of what Python or TensorFlow looks at the operands.
_ASKS_OF: Final = (ir.If, ir.Assert, ir.Attr, ir.Iter, ir.Item, ir.Computed)


def told(function: FunctionView, hits: list[RuleHit]) -> list[RuleHit]:
    """The hits on a function, with what speaks against each; where it is hybrid, as information what is in doubt, and
    what a test does on purpose.
    """
    if not function.is_hybrid:
        return [replace(hit, against=_against_refusal(function, hit)) for hit in hits]
    if not hits:
        return hits
    unrun = _is_idle(function)
    idle = unrun or function.project.roles.is_test(function.code.path)
    called = not idle and is_seen_called(function)

    def is_loud(hit: RuleHit) -> bool:
        # What raises does so at whatever call there will be.
        happens = called or (not idle and hit.outcome is Outcome.RAISES)
        return happens and hit.rule.code not in _SELDOM and not _is_doubtful(function, hit)

    def leveled(hit: RuleHit) -> RuleHit:
        if hit.level is not Level.INFO and is_loud(hit):
            return replace(hit, level=Level.WARNING) if is_optional(function, hit) else hit
        return replace(hit, level=Level.INFO, against=_against(function, hit, unrun=unrun))

    return [leveled(hit) for hit in hits]


def _against(function: FunctionView, hit: RuleHit, *, unrun: bool) -> Against:
    """What speaks against telling of a hit as information."""
    project = function.project
    # A small program is followed in detail; how something is written rests on no runs and values.
    if project.solution.world.is_small or (hit.outcome is Outcome.SLOWS and not hit.blocks):
        return Against.NOTHING
    if project.roles.is_test(function.code.path) or project.roles.is_test(hit.path):
        return Against.TESTED
    if unrun:
        return Against.UNRUN
    if hit.merged:
        return Against.MERGED
    if hit.outcome is not Outcome.RAISES or is_unreached(function, hit) or is_optional(function, hit):
        return Against.NOTHING
    runs = function.is_called
    return Against.TRIED if runs else Against.NOTHING


def _against_refusal(function: FunctionView, hit: RuleHit) -> Against:
    """What speaks against a hit as the reason why a function stays eager."""
    if hit.rule.opens or hit.unless:
        return Against.UNKNOWN
    if not hit.sure:  # in merged calls, too, most hits rest on nothing that the calls could mix up
        return Against.MERGED
    # What runs in graphs only has been traced: what happens then is told of these graphs.
    traced = function.facts.covered_by_hybrid_callers.value is Ternary.YES
    return Against.TRIED if traced and hit.rule.code not in _PLAIN else Against.NOTHING


def _is_idle(function: FunctionView) -> bool:
    """Whether no run of the program traces a function."""
    off = switched_off(function.project, function.code) is not None
    return off or is_never_made(function) or is_never_run(function)


def _is_doubtful(function: FunctionView, hit: RuleHit) -> bool:
    """Whether a hit is none to act on before it is looked at.

    What raises whenever the function is traced has been seen by whoever called it once: that the analysis mistakes what
    a function far from there gets is more likely, but for the rules that ask for nothing that calls could mix up.
    """
    if not hit.sure or is_unreached(function, hit):
        return True
    if is_optional(function, hit, answers=hit.rule.code in _SILENT):
        return True
    if is_behind_failure(function, hit.path, hit.line):
        return True
    if _is_of_switching_objects(function, hit):
        return True
    code = function.code
    if hit.outcome is Outcome.RAISES and (is_shown_to_raise(function) or _is_passed_over(function, hit)):
        return True
    if hit.level is Level.ERROR and hit.rule.level is Level.INFO and not is_called(function):
        return True
    first = min((node.lineno for node in code.decorators), default=code.line)
    here = hit.path == code.path and first <= hit.line <= code.end_line
    return hit.outcome is Outcome.RAISES and not here and hit.rule.code not in _PLAIN


def _is_of_switching_objects(function: FunctionView, hit: RuleHit) -> bool:
    """Whether a hit, or a call that leads there, stands in methods of objects that switch graphs off when made."""
    project = function.project
    if not switches(project)[0]:
        return False
    steps = {(hit.path, hit.line), *((step.path, step.line) for step in hit.evidence)}
    codes = {frame.code for frame in project.extents.frames(extent_of(function))}
    within = [c for c in codes if any(c.path == path and c.line <= line <= c.end_line for path, line in steps)]
    return any(is_of_switching_objects(project, code) for code in within if not code.is_body)


def _is_passed_over(function: FunctionView, hit: RuleHit) -> bool:
    """Whether what a hit raises is handled on its way out of the trace, so that tracing goes on.

    Of what raises one exception or another only handlers of all are asked.
    """
    raised = lib(f"builtins.{hit.error or 'Exception'}").value
    steps = {(hit.path, hit.line), *((step.path, step.line) for step in hit.evidence)}
    views = [FrameView(function.project, f) for f in function.project.extents.frames(extent_of(function))]
    return any(
        is_passed_over(view, line, raised)
        for view in views
        if index_of(view.code).of(ir.Try)
        for path, line in steps
        if path == view.code.path
    )


def is_merged(frame: Frame, instr: Instr) -> bool:
    """Whether an operand is a tensor in some calls or objects that were taken together, and none in others.

    None counts as nothing: code that asks for it first is left with the tensor.
    """
    for slot in _operands(frame, instr):
        value = frame.vals[slot] or ()
        tensors = [o for o in value if isinstance(o, Tensor)]
        if tensors and any(o is not NONE and not isinstance(o, Tensor) for o in value) and _is_read(frame, slot):
            return True
    return False


def is_guarded(frame: Frame, position: int) -> bool:
    """Whether code runs only where something is, or is not, a tensor or of some class.

    What the one branch does with arrays, no tensor gets to.
    """
    index = index_of(frame.code)
    for branch in index.of(ir.If):
        inside = any(each.position == position for each in instructions((*branch.then, *branch.orelse)))
        if inside and _asks_kind(frame, branch.condition, _DEPTH):
            return True
    return False


def _asks_kind(frame: Frame, slot: int, depth: int) -> bool:
    """Whether a condition asks, alone or among other things, what something is."""
    made = index_of(frame.code).definitions.get(slot)
    if made is None or not depth:
        return False
    match made:
        case ir.Copy():
            return _asks_kind(frame, made.source, depth - 1)
        case ir.Unary():
            return _asks_kind(frame, made.operand, depth - 1)
        case ir.Phi():
            return any(_asks_kind(frame, each, depth - 1) for _, each in made.incoming)
        case ir.Call():
            return any(isinstance(o, Lib) and o.name in _KINDS for o in frame.vals[made.function] or ())
    return False


def _operands(frame: Frame, instr: Instr) -> Iterator[int]:
    if not isinstance(instr, ir.Call):
        yield from operands(instr) if isinstance(instr, _ASKS_OF) else ()
        return
    yield from (slot for slot, _ in instr.arguments)
    yield from (slot for _, slot in instr.keywords)
    method = index_of(frame.code).definitions.get(instr.function)
    if isinstance(method, ir.Attr):
        yield method.owner


def _is_read(frame: Frame, slot: int) -> bool:
    """Whether a slot holds a parameter, or what was read from somewhere: no choice between branches."""
    known = index_of(frame.code).definitions
    made = known.get(slot)
    while isinstance(made, ir.Copy):
        made = known.get(made.source)
    return made is None or type(made) in _READ
