"""HY815: a message to a logger in a function that is to be traced -> `tf.print`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from hybridize.program.ir import Code
from hybridize.repairs.model import Cause, Change, NotOffered, Repair, RepairExample
from hybridize.repairs.source.bench import Bench
from hybridize.repairs.source.edits import NewImport
from hybridize.repairs.source.log_setup import LEVELS, NAMES, WARNING, LogSetup, around, log_setup
from hybridize.repairs.source.pieces import Formatter, Piece, is_text
from hybridize.repairs.source.printing import arguments_of, laid_out
from hybridize.repairs.source.text import SourceFile, end, start

_STANDARD: Final = ("logging.Logger.", "logging.LoggerAdapter.", "logging.")
_ABSL: Final = "absl.logging."
_NAME: Final = "\1"
#: The method that is told its level first.
_ANY_LEVEL: Final = "log"
#: Keywords that ask for nothing where they are false.
_IDLE: Final = frozenset({"exc_info", "stack_info", "extra"})


def propose(bench: Bench, cause: Cause) -> Iterator[Change]:
    """A call of a level's method that is a statement of its own, with a message and its values."""
    opened = bench.with_tensorflow(cause.path)
    if opened is None:
        return
    file, tf = opened
    for call in (n for n in file.at(cause.place) if isinstance(n, ast.Call)):
        if isinstance(file.parents[call], ast.Expr) and isinstance(call.func, ast.Attribute):
            method = _method(bench.names(file, call))
            if method is not None:
                yield _change(bench, file, tf, call, method)


def _method(names: set[str]) -> tuple[str, bool] | None:
    """The method that logs at a level, and whether it is absl's; None where a call may do anything else."""
    found: set[tuple[str, bool]] = set()
    for name in names:
        absl = name.startswith(_ABSL)
        prefix = _ABSL if absl else next((p for p in _STANDARD if name.startswith(p)), "")
        found.add((name.removeprefix(prefix), absl))
    method = next(iter(found)) if len(found) == 1 else None
    return method if method is not None and (method[0] in LEVELS or method == (_ANY_LEVEL, False)) else None


def _change(bench: Bench, file: SourceFile, tf: str, call: ast.Call, method: tuple[str, bool]) -> Change:
    name, absl = method
    statement = file.statement(call)
    indent = file.indentation(statement)
    level, given = _level_and_rest(file, call, name)
    # `exc_info`, `stacklevel` and `extra` speak of the handlers' frame: that only a false one asks nothing is sure.
    idle = all(k.arg in _IDLE and isinstance(k.value, ast.Constant) and not k.value.value for k in call.keywords)
    if not idle or not given or indent is None:
        raise NotOffered("`tf.print` cannot write what this message asks of its logger")
    sys = file.module_name("sys")
    if sys is None and "sys" in file.used:
        raise NotOffered("`sys` stands for something else here")
    setup = LogSetup(WARNING) if absl else log_setup(bench)
    pieces = _framed(file, call, setup, level, _message(bench, file, tf, call, given))
    arguments, joined = arguments_of([pieces], " ", tf)
    step = "\t" if indent.startswith("\t") else "    "
    guard = _guard(file, call, level, absl=absl) if level < setup.level or (absl and level < WARNING) else None
    deeper = indent + step if guard is not None else indent
    stream = setup.stream.replace("sys.", f"{sys or 'sys'}.", 1)
    text = laid_out(f"{tf}.print", [*arguments, *joined, f"output_stream={stream}"], deeper)
    if guard is not None:
        text = f"if {guard}:\n{deeper}{text}"
    imports = (NewImport(file.path, "sys", "sys"),) if sys is None else ()
    span = (file.path, start(call), end(call))
    doubt = f"the message goes to {setup.stream}, past the handlers and filters of the logger"
    edit = file.replace(call, text)
    return Change((edit,), f"`{file.source(call.func)}` becomes `{tf}.print`", doubt, imports, (span,))


def _level_and_rest(file: SourceFile, call: ast.Call, name: str) -> tuple[int, list[ast.expr]]:
    """The level of a message, and the arguments that make it."""
    if name != _ANY_LEVEL:
        return LEVELS[name], call.args
    first = call.args[0] if call.args else None
    if isinstance(first, ast.Constant) and isinstance(first.value, int) and first.value in NAMES:
        return first.value, call.args[1:]
    if isinstance(first, ast.Attribute) and ast.unparse(first.value) == file.module_name("logging"):
        level = LEVELS.get(first.attr.lower()) if first.attr.isupper() else None
        if level is not None:
            return level, call.args[1:]
    raise NotOffered("the level of the message is not known")


def _message(bench: Bench, file: SourceFile, tf: str, call: ast.Call, given: list[ast.expr]) -> list[Piece]:
    """The message with its values, as the logger would make it."""
    formatter = Formatter(bench, file, tf)
    template, *values = given
    if any(isinstance(each, ast.Starred) for each in given):
        raise NotOffered("`tf.print` cannot write starred arguments")
    if values:
        if not is_text(template):
            raise NotOffered("the format of the message is not a text that stands there")
        asked = ast.BinOp(template, ast.Mod(), ast.Tuple(values, ast.Load()))
        return formatter.argument(asked, *_slots(bench, file, call))
    return formatter.argument(template, *_slots(bench, file, call))


def _slots(bench: Bench, file: SourceFile, call: ast.Call) -> tuple[Code, dict[ast.expr, int]]:
    found = bench.argument_slots(file, call)
    if found is None:
        raise NotOffered("the analysis does not see this call")
    return found


def _framed(file: SourceFile, call: ast.Call, setup: LogSetup, level: int, pieces: list[Piece]) -> list[Piece]:
    """The message as a handler writes it, where that can be told; else the message alone."""
    name = _logger_name(file, call)
    assert isinstance(call.func, ast.Attribute)
    form = setup.root_form if file.source(call.func.value) == file.module_name("logging") else setup.form
    if "%(name)" in form and name is None:
        return pieces
    shown = around(form, NAMES[level], _NAME)
    if shown is None:
        return pieces
    return [*_named(shown[0], name), *pieces, *_named(shown[1], name)]


def _named(text: str, name: Piece | None) -> Iterator[Piece]:
    """A text in which the logger's name may stand."""
    for i, part in enumerate(text.split(_NAME)):
        if i and name is not None:
            yield name
        yield Piece(part)


def _logger_name(file: SourceFile, call: ast.Call) -> Piece | None:
    """The name of the logger, where the module makes it once of a text or of its own name."""
    assert isinstance(call.func, ast.Attribute)
    receiver = call.func.value
    if not isinstance(receiver, ast.Name):
        return None
    if receiver.id == file.module_name("logging"):
        return Piece("root")
    binders = file.bound.get(receiver.id, ())
    made = file.parents[binders[0]] if len(binders) == 1 else None
    value = made.value if isinstance(made, ast.Assign) else None
    if not isinstance(value, ast.Call) or ast.unparse(value.func).rpartition(".")[2] != "getLogger":
        return None
    if not value.args:
        return Piece("root")
    if isinstance(value.args[0], ast.Constant):
        return Piece(str(value.args[0].value))
    is_own = isinstance(value.args[0], ast.Name) and value.args[0].id == "__name__"
    return Piece(source="__name__") if is_own else None


def _guard(file: SourceFile, call: ast.Call, level: int, *, absl: bool) -> str:
    """The question whether the logger writes messages of this level at all."""
    assert isinstance(call.func, ast.Attribute)
    receiver = file.source(call.func.value)
    if absl:
        return f"{receiver}.level_{NAMES[level].lower()}()"
    logging = file.module_name("logging")
    if receiver == logging:
        receiver = f"{logging}.getLogger()"
    return f"{receiver}.isEnabledFor({f'{logging}.{NAMES[level]}' if logging is not None else level})"


REPAIR = Repair(
    code="HY815",
    name="logging-to-tf-print",
    removes=frozenset({"HY201", "HY301", "HY341", "HY344", "HY342"}),
    summary="A message to a logger becomes `tf.print`, which is part of the graph.",
    details="""Logging runs while a function is traced, once; `tf.print` at every call. The message goes to the stream
that the project gives its handlers (`basicConfig`, `StreamHandler`), else to `sys.stderr`, in their format as far as
that shows the level, the name of the logger and the message only. Where the project does not say that messages of this
level come out, the logger is asked: `if logger.isEnabledFor(logging.INFO):`.""",
    safety="""Never safe: handlers and filters do not see the message, and a level that is set after the first call is
not seen.""",
    propose=propose,
    examples=(
        RepairExample(
            """\
import logging
import tensorflow as tf
logger = logging.getLogger("trainer")
w = tf.Variable([[1.0], [2.0]])
def train_step(x, y):
    for _ in range(4):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        w.assign_sub(0.1 * tape.gradient(loss, w))
    logger.info("loss: %.4f", loss)
    return loss
for _ in range(10):
    loss = train_step(tf.ones([4, 2]), tf.ones([4, 1]))
r = loss.numpy()
""",
            """\
import logging
import sys
import tensorflow as tf
logger = logging.getLogger("trainer")
w = tf.Variable([[1.0], [2.0]])
@tf.function
def train_step(x, y):
    for _ in range(4):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        w.assign_sub(0.1 * tape.gradient(loss, w))
    if logger.isEnabledFor(logging.INFO):
        tf.print(
            tf.strings.join(["loss: ", tf.strings.as_string(loss, precision=4)]),
            output_stream=sys.stderr,
        )
    return loss
for _ in range(10):
    loss = train_step(tf.ones([4, 2]), tf.ones([4, 1]))
r = loss.numpy()
""",
            function="train_step",
            output=True,
        ),
        RepairExample(
            """\
import logging
import sys
import tensorflow as tf
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s %(message)s")
def norm(v):
    total = tf.reduce_sum(v * v)
    logging.info(f"norm {total:.3f}")
    return tf.sqrt(total)
def step(v, n):
    for _ in range(8):
        v = v / norm(v) + tf.nn.relu(v) * tf.tanh(v) - tf.exp(-v)
    return v, n + 1
for i in range(5):
    v, n = step(tf.constant([3.0, 4.0]), tf.constant(i))
""",
            """\
import logging
import sys
import tensorflow as tf
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s %(message)s")
def norm(v):
    total = tf.reduce_sum(v * v)
    tf.print(
        tf.strings.join(["INFO norm ", tf.strings.as_string(total, precision=3)]),
        output_stream=sys.stdout,
    )
    return tf.sqrt(total)
@tf.function
def step(v, n):
    for _ in range(8):
        v = v / norm(v) + tf.nn.relu(v) * tf.tanh(v) - tf.exp(-v)
    return v, n + 1
for i in range(5):
    v, n = step(tf.constant([3.0, 4.0]), tf.constant(i))
""",
            function="step",
            output=True,
        ),
    ),
    order=11,
)
