"""The preconditions and statuses in words: what `hybridize rules` lists and `hybridize explain CODE` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hybridize.decide.model import Severity, Status
from hybridize.facts.model import Evidence, FunctionFacts
from hybridize.records import dataclass


@dataclass(frozen=True, slots=True)
class Doc:
    """A precondition or status: its readable name, one sentence, and a page of Markdown."""

    name: str
    summary: str
    severity: Severity | None = None
    details: str = ""


PRECONDITION_DOCS: Final[Mapping[str, Doc]] = {
    "P1": Doc(
        "convert-to-hybrid",
        "An eager function with a tensor parameter, no literal that retraces, no Python side effect, no recursion, "
        "and some tensor computation is converted to hybrid.",
        details="The paper, Table I. With `strict-literals` any literal argument blocks; without it only literals that "
        "differ from call to call, because a literal that is always the same costs one trace.",
    ),
    "P2": Doc(
        "convert-to-eager-no-tensor",
        "A hybrid function without tensor parameter and without Python side effect is converted to eager.",
        details="The paper, Table II: without tensors there is little for a graph to gain, and every distinct Python "
        "argument costs a trace. Not where its graph may pay all the same: a loop, a model that it calls (HY024).",
    ),
    "P3": Doc(
        "convert-to-eager-retracing",
        "A hybrid function with tensor and retracing literal parameters and without side effect is converted to eager.",
        details="The paper, Table II and Listing 5: each distinct literal makes a new graph. Not where the graph saves "
        "more than making new ones costs (HY024): pass a tensor then.",
    ),
    "P4": Doc(
        "add-input-signature",
        "A hybrid function that its calls would trace again and again gets the `input_signature` that accepts them.",
        details="The signature is inferred from the calls: equal sizes stay, others become None. It is added where "
        "shapes vary, or everywhere with `infer-input-signatures`, and withheld where the function reads a size that "
        "it would leave open.",
    ),
    "P5": Doc(
        "replace-input-signature",
        "A hybrid function whose `input_signature` rejects calls of the program gets one that accepts them (unsafe).",
        details="It is the repair HY813: `hybridize fix --unsafe-fixes` makes it.",
    ),
    "P6": Doc(
        "convert-to-eager-no-computation",
        "A hybrid function that takes tensors but computes nothing with TensorFlow, without side effect, is converted "
        "to eager.",
        details="Calling its graph costs what some ten small operations do, and hands back what it was given. Kept is "
        "one whose result is used as the tensor that a graph makes of it (`.numpy()` of an array), or whose concrete "
        "function is asked for (HY016).",
    ),
    "P7": Doc(
        "convert-to-hybrid-variables",
        "An eager function that takes no tensor, but computes on variables, which it updates or reads, is converted "
        "to hybrid as by P1.",
        details="A step of a target network, an exponential average, a training step on data that the object holds: "
        "what tensors are for P1, the variables are here. So they are for a loss without arguments, which `minimize` "
        "calls; one that only reads them rests on what is declared at best, since all else that it reads must stay the "
        "same. One trace serves all calls, since a graph reads the values "
        "of variables when it runs. All else that P1 asks for holds, too, and the plan must expect a gain: without it "
        "only tensor parameters count. With `--all-safe` it need not be seen how often it is called, unless that is "
        "seen to be too seldom, and what computes on draws or constants of its own counts as well (`sample(n=16)`). A "
        "hybrid function of this kind is kept (HY008).",
    ),
}

STATUS_DOCS: Final[Mapping[str, Doc]] = {
    "HY001": Doc(
        "no-tensor-parameter",
        "No parameter receives a tensor.",
        Severity.INFO,
        "Graphs serve functions that compute on what they are given. Tensors, variables and NumPy arrays count, alone "
        "and in containers; `self` does not. A function that computes on variables is looked at all the same (P7).",
    ),
    "HY002": Doc(
        "primitive-parameter",
        "A parameter receives Python literals that would retrace the function.",
        Severity.ERROR,
        "Each distinct Python value of an argument makes a graph of its own. Pass a tensor (`tf.constant(n)`), or "
        "keep the function eager.",
    ),
    "HY003": Doc(
        "python-side-effects",
        "The function changes something by Python that outlives the call.",
        Severity.ERROR,
        "A traced function runs its Python code once per trace, not once per call: prints, appends, counters and "
        "random draws would happen once. Use TensorFlow's own state (`tf.Variable`, `tf.print`, `tf.random`). A hybrid "
        "function with side effects is left as it is; where they are a bug, the rules of the place say so (HY201 to "
        "HY206, HY601).",
    ),
    "HY004": Doc(
        "recursive",
        "The function calls itself, directly or through others.",
        Severity.ERROR,
        "Tracing follows each call: where a tensor decides how deep it goes, it never ends, and else each depth is a "
        "copy of the body in the graph. Write it as a loop.",
    ),
    "HY005": Doc(
        "no-tensor-computation",
        "No TensorFlow operation happens in the function.",
        Severity.INFO,
        "A graph would hand back what it was given, and calling it costs as much as some ten small operations.",
    ),
    "HY006": Doc(
        "undetermined",
        "A fact that the decision needs is not known, so the function stays as it is.",
        Severity.INFO,
        "Only a determinate yes or no decides. The evidence says where the analysis lost sight.",
    ),
    "HY007": Doc(
        "no-primitive-parameter",
        "No literal retraces this hybrid function: it stays hybrid.",
        Severity.INFO,
        "It takes tensors, and one trace serves all calls, which is what `tf.function` is for. P3 would take the "
        "decorator off a function that is traced again and again.",
    ),
    "HY008": Doc(
        "updates-variables",
        "This hybrid function takes no tensor, but updates variables: it stays hybrid.",
        Severity.INFO,
        "Precondition P2 takes the decorator off functions without tensor parameters, since a graph seldom serves "
        "them. One that computes on variables gains as much as one that takes tensors (P7).",
    ),
    "HY010": Doc(
        "covered",
        "Its calls run as part of graphs: nothing to gain from a decorator of its own.",
        Severity.INFO,
        "The callers are hybrid, or become so, or a `tf.data` pipeline or `fit` traces the function. Where some calls "
        "are still eager, they are few. `--all-safe` converts the function all the same, unless it is a nested one or "
        "a caller would pass on a variable that it got itself.",
    ),
    "HY014": Doc(
        "abstract-function",
        "The function only raises.",
        Severity.INFO,
        "There is nothing to compute in it. The methods that override it are decided each by itself.",
    ),
    "HY018": Doc(
        "special-method",
        "Python itself calls this method and asks for Python values, or it makes the object.",
        Severity.INFO,
        "`__bool__`, `__len__`, `__iter__`, `__init__` and the like: a graph gives tensors, and Python refuses them, "
        "and a constructor that is a graph would make its object once per trace. Move what they compute into a method.",
    ),
    "HY020": Doc(
        "unused-suppression",
        "A comment `# hybridize: ignore` silences nothing.",
        Severity.WARNING,
        "What it silenced is gone, or it stands on the wrong line: behind code it holds for its line, on the line of a "
        "`def` or decorator for the function, alone for the next line, before the first statement for the file.",
    ),
    "HY021": Doc(
        "not-worth-it",
        "A graph of this function would gain nothing: too few operations per call, or too many to trace.",
        Severity.INFO,
        "Calling a graph costs about as much as a dozen small TensorFlow operations. A function of fewer is slower as "
        "a graph, unless its tensors are large; one whose Python loops unroll to tens of thousands of operations takes "
        "minutes to trace. One whose argument a loop makes longer at each call (a generated sequence) is traced each "
        "time, unless a signature or relaxed retracing takes all lengths. The estimate counts operations, loops, "
        "callees, layers and known sizes. `--all-safe` converts the function all the same, unless it is a nested one "
        "that each call of the one around it makes anew. It is also said of functions that "
        "stay eager for another reason, where all that they call is known: mending them wins nothing; and of functions "
        "that are hybrid already, where the decorator stands alone and the graph takes clearly longer.",
    ),
    "HY022": Doc(
        "no-input-signature",
        "No `input_signature` accepts all calls of this function and keeps what it computes.",
        Severity.INFO,
        "A signature is written only from what calls are seen to pass: dtypes and shapes that are known, structures of "
        "one form, no Python values but defaults that no call overrides. It is withheld where a size that it would "
        "leave open (None) is read while the function is traced: `x.shape[0]`, the input size of a layer.",
    ),
    "HY023": Doc(
        "may-be-compiled",
        "XLA can compile the graph of this function, and is likely to run it faster: `jit_compile=True` (unsafe).",
        Severity.INFO,
        "Said of functions that become or are hybrid, of many operations on small tensors of known shapes, without "
        "convolutions and recurrent layers (which XLA runs slower on CPU), and without what XLA refuses or changes: "
        "strings, files, `tf.print`, tables, datasets, random numbers, checks that it drops. Sums come out in another "
        "order, so last digits may differ. `hybridize fix --jit-compile` writes the argument into new decorators.",
    ),
    "HY024": Doc(
        "graph-may-pay",
        "Without its graph this hybrid function may be slower: its decorator stays.",
        Severity.INFO,
        "A decorator goes (P2, P3, P6) only where the estimate that decides on conversions says that eager calls "
        "take no longer, even if each operation takes twice as long as estimated. What cannot be estimated counts "
        "for the graph: calls of something unknown, operators on unknown values, loops of unknown length (datasets, "
        "`while`). A function whose literals retrace it is made eager for more operations, where every call of the "
        "program itself (not of its tests) is seen to pass a new value and tracing takes longer than the graph "
        "saves. A public function of a package may be called by other programs: with large tensors, and with use of "
        "the tensors that a graph makes of what it returns. `--all-safe` takes the estimate as it is and thinks of "
        "no other programs, but takes no decorator away by which the estimate expects to lose.",
    ),
    "HY025": Doc(
        "part-of-tests",
        "The function belongs to the project's tests: a graph gains nothing there.",
        Severity.INFO,
        "Tests run once, and what they assert may change with the mode in which the code runs. `--all-safe` converts "
        "helpers of tests all the same, but never what a test runner calls.",
    ),
    "HY026": Doc(
        "no-gain-seen",
        "No eager code that is no test is seen to call the function often enough to win back what tracing costs.",
        Severity.INFO,
        "The first call of a graph traces it, which takes as long as hundreds of calls save. So the default converts "
        "what loops of the program call, what wins that back in one call, and steps that apply gradients. Of what "
        "calls something unknown only the rest is counted: where that is little, nothing shows a gain either. What "
        "Keras runs in graphs of its own (`fit`, functional models) is not called eagerly by that. What a library "
        "offers to callers elsewhere is converted with `--all-safe`.",
    ),
    "HY027": Doc(
        "unsure",
        "The conversion rests on less than the option `confidence` asks for.",
        Severity.INFO,
        "Each conversion is `seen` (code that is no test calls the function, with values that are known), `declared` "
        "(type hints or tests say what it accepts) or `assumed` (the analysis had to guess). The default makes those "
        "of the first level; `--confidence declared`, `--confidence assumed` and `--all-safe` go further. `--all-safe` "
        "leaves what nobody vouches for: calls that nobody can follow, results that may be anything, contracts of "
        "libraries that say nothing of graphs, and, in a library, calls that would end otherwise as a graph, those "
        "with arguments that nobody is seen to pass among them.",
    ),
    "HY028": Doc(
        "tensorflow-1",
        "The project may run on TensorFlow 1, or its code runs in sessions: no function is converted.",
        Severity.INFO,
        "Where eager execution is off, calls build a graph that a session runs: a decorator gains nothing, and may "
        "raise. That is so on every release before 2.0, which requirements (or else a README) allow, and in "
        "programs that call `disable_eager_execution` or `disable_v2_behavior`: in each module of a process that does. "
        "`tensorflow>=1.14` allows both, and what is done by default has to hold for both, unless the sources use what "
        "only TensorFlow 2 has. Say `tensorflow-version` where the project runs on a later release. `--all-safe` "
        "converts all the same where TensorFlow 2 is allowed.",
    ),
    "HY029": Doc(
        "failed",
        "hybridize itself failed on this function, which stays as it is.",
        Severity.WARNING,
        "A mistake of ours: the rest of the run goes on, the error is among the report's `errors`, and the exit code "
        "is not 0. Please report it with the message.",
    ),
    "HY016": Doc(
        "graph-dependants",
        "Something depends on the graph (a concrete function, `jit_compile`, `input_signature`, an export).",
        Severity.INFO,
        "Without its decorator the function would lack what is asked for (`get_concrete_function` is none of a plain "
        "function's), or do something else (a signature converts arguments). So P2, P3 and P6 leave it.",
    ),
    "HY017": Doc(
        "explicit-hybrid",
        "Made hybrid by a call of `tf.function`, or only under a condition: shown, not rewritten.",
        Severity.INFO,
        "The verdict names what would be better; where the call is, a person knows what it is for.",
    ),
}

CODES: Final[Mapping[str, str]] = {doc.name: code for code, doc in STATUS_DOCS.items()}


def status_of(facts: FunctionFacts, name: str, message: str, evidence: tuple[Evidence, ...] = ()) -> Status:
    """The status of this name of a function, at its header, as severe as the documentation says."""
    code = CODES[name]
    severity = STATUS_DOCS[code].severity or Severity.INFO
    return Status(code, name, severity, message, facts.path, facts.line, facts.column, evidence)
