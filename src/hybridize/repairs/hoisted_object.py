"""HY808: a variable, optimizer, layer or metric that every call makes anew -> made once, outside."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Class
from hybridize.program.ir import Code
from hybridize.records import dataclass
from hybridize.regex import regex
from hybridize.repairs.model import Cause, Change, NotOffered, Repair, RepairExample
from hybridize.repairs.source.bench import Bench
from hybridize.repairs.source.edits import TextEdit
from hybridize.repairs.source.names import bound_before, free_names, top_statement
from hybridize.repairs.source.text import FunctionNode, SourceFile, end, first_line, start
from hybridize.source.syntax import walk

_VARIABLE: Final = regex(r"(tf|keras)\.Variable")
_METRIC: Final = regex(r"keras\.metrics\.[A-Z]\w*")
_SEEDED: Final = regex(r"tf\.random\.(experimental\.)?Generator\.from_seed")
_QUEUE: Final = regex(r"tf\.queue\..*|.*\.add_(weight|variable)|keras\.optimizers\.get|.*get_variable|.*file_writer")
_WORD: Final = regex(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class _Made:
    """A call that makes an object, in a function; `target` is the variable that it is assigned to, if it is."""

    file: SourceFile
    own: FunctionNode
    code: Code
    call: ast.Call
    statement: ast.stmt
    target: str | None


def propose(bench: Bench, cause: Cause) -> Iterator[Change]:
    """A call in a function that is run once for each call of it, of arguments that are there outside, too."""
    file = bench.file(cause.path)
    calls = [n for n in file.at(cause.place) if isinstance(n, ast.Call)] if file is not None else []
    for call in calls:
        assert file is not None
        names = bench.names(file, call)
        own = file.function(call)
        code = bench.code_around(file, call)
        name = next(iter(names)) if len(names) == 1 else None
        is_meant = cause.hit is not None and name == cause.hit.about
        if name is None or code is None or not isinstance(own, ast.FunctionDef) or not is_meant:
            continue
        if _QUEUE.fullmatch(name):
            raise NotOffered(f"a `{name}` cannot be made elsewhere")
        made = _made(bench, file, own, code, call)
        if code is not cause.function and bench.has_several_calls(code):
            raise NotOffered(f"`{own.name}` is called at several places, which would share one")
        yield _change(bench, made, name)


def _made(bench: Bench, file: SourceFile, own: FunctionNode, code: Code, call: ast.Call) -> _Made:
    statement = file.statement(call)
    for outer in file.around(call):
        if outer is own:
            break
        scoped = isinstance(outer, ast.With) and "GradientTape" not in "".join(map(ast.unparse, outer.items))
        if scoped or isinstance(outer, (ast.For, ast.While, ast.Lambda, ast.Try, _COMPREHENSIONS)):
            raise NotOffered("it is made where a call may make several, or none")
    assigned = isinstance(statement, ast.Assign) and statement.value is call and len(statement.targets) == 1
    target = statement.targets[0] if assigned and isinstance(statement, ast.Assign) else None
    if target is not None and not isinstance(target, ast.Name):
        raise NotOffered("what is made goes into a field or container")
    return _Made(file, own, code, call, statement, target.id if target is not None else None)


_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def _change(bench: Bench, made: _Made, name: str) -> Change:
    file, own, call = made.file, made.own, made.call
    if any(isinstance(n, (ast.JoinedStr, ast.Constant)) and n.lineno != n.end_lineno for n in walk(call)):
        raise NotOffered("a text over several lines would change")
    wanted = made.target or _WORD.sub("_", name.rpartition(".")[2]).lower()
    parent = file.parents[own]
    if isinstance(parent, ast.ClassDef):
        shown, edits = _in_constructor(bench, made, parent, wanted)
    else:
        shown, edits = _in_front(made, wanted)
    reset = _reset(file, name, call, shown)
    edits += _used(made, shown, reset)
    what = name.rpartition(".")[2]
    doubt = f"the same `{what}` serves all calls"
    doubt += ", and starts anew at each" if reset else ", and what it learns or counts stays from call to call"
    span = (file.path, start(made.statement), end(made.statement))
    return Change(tuple(edits), f"`{shown}` is made once, outside of `{own.name}`", doubt, spans=(span,))


def _reset(file: SourceFile, name: str, call: ast.Call, shown: str) -> str:
    """The call that makes of an object what it was when it was new; empty where there is none."""
    first = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "initial_value"), None)
    if _VARIABLE.fullmatch(name):
        if first is None or isinstance(first, ast.Lambda):
            raise NotOffered("its initial value is not given as a value")
        return f"{shown}.assign({file.source(first)})"
    if _METRIC.fullmatch(name):
        return f"{shown}.reset_state()"
    if _SEEDED.fullmatch(name) and len(call.args) == 1 and not call.keywords:
        return f"{shown}.reset_from_seed({file.source(call.args[0])})"
    return ""


def _in_front(made: _Made, wanted: str) -> tuple[str, list[TextEdit]]:
    """The object as a variable of the module, right before the function (or that around it)."""
    file, own = made.file, made.own
    top = top_statement(file, own)
    lead = first_line(top)
    if not bound_before(file, free_names(file, made.call), lead):
        raise NotOffered("what it is made of is not there at the top of the module")
    binders = file.bound.get(wanted, ())
    alone = all(isinstance(n, ast.Name) and file.statement(n) is made.statement for n in binders)
    shown = (
        wanted if alone and (made.target is not None or wanted not in file.used) else file.fresh(f"{own.name}_{wanted}")
    )
    text = f"{shown} = {_dedented(made)}{_comment(made)}\n"
    above = next((n for n in reversed(file.tree.body) if end(n) < (lead, 0)), None)
    after = (
        file.after(above, *text.rstrip("\n").split("\n")) if isinstance(above, (ast.Assign, ast.AnnAssign)) else None
    )
    if after is not None:  # among its like
        return shown, [after]
    return shown, [TextEdit(file.path, (lead, 0), (lead, 0), text + "\n" * file.blank_lines_above(lead))]


def _in_constructor(bench: Bench, made: _Made, owner: ast.ClassDef, wanted: str) -> tuple[str, list[TextEdit]]:
    """The object as a field that the constructor makes last."""
    file, own = made.file, made.own
    init = next((n for n in owner.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    if init is None and not own.decorator_list and own.args.args and not _has_heirs(bench, made.code):
        return _in_new_constructor(made, owner, wanted)
    if init is None or own.decorator_list or not own.args.args or own is init or not init.args.args:
        raise NotOffered("its class has no constructor that could make it")
    receiver, there = own.args.args[0].arg, init.args.args[0].arg
    free = free_names(file, made.call) - {receiver}
    if not bound_before(file, free, owner.lineno):
        raise NotOffered("what it is made of is not there in the constructor")
    fields = {n.attr for n in walk(made.call) if isinstance(n, ast.Attribute) and ast.unparse(n.value) == receiver}
    set_there = {
        t.attr
        for s in init.body
        if isinstance(s, ast.Assign)
        for t in s.targets
        if isinstance(t, ast.Attribute) and ast.unparse(t.value) == there
    }
    bare = [n for n in walk(made.call) if isinstance(n, ast.Name) and n.id == receiver]
    if not fields <= set_there or len(bare) > len(fields) or (fields and receiver != there):
        raise NotOffered("what it is made of is not there in the constructor")
    # A base class from elsewhere may have the field already (`optimizer` of a Keras model).
    taken = bool(owner.bases) or wanted in file.attributes
    field = f"{own.name}_{wanted}" if taken else wanted
    while field in file.attributes:
        field += "_"
    edit = file.after(init.body[-1], *f"{there}.{field} = {_dedented(made)}{_comment(made)}".split("\n"))
    if edit is None or isinstance(init.body[-1], (ast.Return, ast.Raise)):
        raise NotOffered("the constructor shares its lines")
    return f"{receiver}.{field}", [edit]


#: Bases whose classes are made in ways of their own.
_SPECIAL = frozenset(
    "NamedTuple Enum IntEnum StrEnum Flag Protocol TypedDict ExtensionType BatchableExtensionType".split()
)


def _has_heirs(bench: Bench, code: Code) -> bool:
    """Whether objects of classes that derive from a function's class are made: they may not call its constructor."""
    owner = code.parent
    known = bench.project.solution.world.instances
    return any(c.code is not owner and any(isinstance(b, Class) and b.code is owner for b in c.mro) for c in known)


def _in_new_constructor(made: _Made, owner: ast.ClassDef, wanted: str) -> tuple[str, list[TextEdit]]:
    """The object as a field that a constructor makes, which the class gets for it."""
    file, own = made.file, made.own
    bases = {ast.unparse(base).rpartition(".")[2] for base in owner.bases}
    first = next((n for n in owner.body if isinstance(n, FunctionNode)), own)
    indent = file.indentation(first)
    if owner.decorator_list or owner.keywords or bases & _SPECIAL or first.decorator_list or indent is None:
        raise NotOffered("its class has no constructor that could make it")
    receiver = own.args.args[0].arg
    if not bound_before(file, free_names(file, made.call), owner.lineno):
        raise NotOffered("what it is made of is not there in a constructor")
    field = f"{own.name}_{wanted}" if owner.bases or wanted in file.attributes else wanted
    while field in file.attributes:
        field += "_"
    inner = indent + (" " * 4 if "\t" not in indent else "\t")
    lines = [f"def __init__({receiver}{', *args, **kwargs' if bases else ''}):"]
    if bases:
        lines.append(f"{inner}super().__init__(*args, **kwargs)")
    made_there = f"{receiver}.{field} = {_dedented(made)}{_comment(made)}".split("\n")
    lines += [f"{inner}{line}" for line in made_there]
    apart = "\n" * min(file.blank_lines_above(first_line(own)) if own is not first else 1, 1)
    # What stands there is written again: two constructors at once would be one too many.
    start_, word = start(first), "async def" if isinstance(first, ast.AsyncFunctionDef) else "def"
    stop = (start_[0], start_[1] + len(word))
    return f"{receiver}.{field}", [TextEdit(file.path, start_, stop, "\n".join(lines) + f"\n{apart}{indent}{word}")]


def _used(made: _Made, shown: str, reset: str) -> list[TextEdit]:
    """What stands in the function instead: the object is there already."""
    file, own, target = made.file, made.own, made.target
    if target is None:
        if reset:
            raise NotOffered("it is made amid an expression and would have to start anew there")
        return [file.replace(made.call, shown)]
    uses = [
        n for n in walk(own) if isinstance(n, ast.Name) and n.id == target and file.statement(n) is not made.statement
    ]
    inner = {n for n in walk(own) if isinstance(n, (FunctionNode, ast.Lambda)) and n is not own}
    binders = [n for n in file.bound.get(target, ()) if n in set(walk(own)) or file.parents.get(n) is own.args]
    if len(binders) != 1 or any(target in {a.arg for a in walk(f.args) if isinstance(a, ast.arg)} for f in inner):
        raise NotOffered(f"`{target}` is bound more than once")
    edits = [file.replace(n, shown) for n in uses] if shown != target else []
    if reset:
        return [*edits, file.replace(made.statement, reset)]
    if _comment(made):
        line = made.statement.lineno
        if len(file.block(made.statement)) == 1 or file.indentation(made.statement) is None:
            raise NotOffered("it shares its lines")
        return [*edits, TextEdit(file.path, (line, 0), (end(made.statement)[0] + 1, 0), "")]
    gone = file.remove(made.statement)
    if gone is None:
        raise NotOffered("it shares its lines")
    return [*edits, gone]


def _comment(made: _Made) -> str:
    """The comment behind the statement, which goes along where the statement goes."""
    last, column = end(made.statement)
    rest = made.file.lines[last - 1][column:].decode().strip()
    return f"  {rest}" if rest.startswith("#") and made.target is not None else ""


def _dedented(made: _Made) -> str:
    """The call as it stands at another indentation."""
    indent = made.file.indentation(made.statement) or ""
    first, *more = made.file.source(made.call).split("\n")
    return "\n".join([first, *(line.removeprefix(indent) for line in more)])


REPAIR = Repair(
    code="HY808",
    name="object-made-once",
    removes=frozenset({"HY250"}),
    summary="A variable, optimizer, layer or metric that every call makes anew is made once, outside of the function.",
    details="""A graph may make variables only while it is traced for the first time. What owns some is made in the
constructor of the class, or right before the function. A variable, a metric and a seeded generator are set back where
they were made, so that each call begins as before; an optimizer or a layer goes on with what it has: its slots, its
weights, which is mostly what was meant. Offered where the arguments are there outside, too, and one call makes one.""",
    safety="""Never safe: one object serves all calls, and a layer or an optimizer keeps what it has learnt or counted;
a model that owns a layer or variable trains and saves it.""",
    propose=propose,
    examples=(
        RepairExample(
            """\
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])
def train_step(x, y):
    optimizer = tf.keras.optimizers.SGD(0.1)
    for _ in range(4):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        gradient = tape.gradient(loss, w)
        optimizer.apply_gradients([(gradient, w)])
    return loss
for _ in range(10):
    loss = train_step(tf.ones([4, 2]), tf.ones([4, 1]))
r = loss.numpy()
""",
            """\
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])
optimizer = tf.keras.optimizers.SGD(0.1)
@tf.function
def train_step(x, y):
    for _ in range(4):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        gradient = tape.gradient(loss, w)
        optimizer.apply_gradients([(gradient, w)])
    return loss
for _ in range(10):
    loss = train_step(tf.ones([4, 2]), tf.ones([4, 1]))
r = loss.numpy()
""",
            function="train_step",
            output=True,
            changed=("optimizer",),
        ),
        RepairExample(
            """\
import tensorflow as tf
class Solver:
    def __init__(self, rate):
        self.rate = rate
    def solve(self, target):
        x = tf.Variable([1.0, 1.0])
        for _ in range(6):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.square(x * x - target))
            x.assign_sub(self.rate * tape.gradient(loss, x))
        return x + 0.0
solver = Solver(0.05)
for i in range(5):
    r = solver.solve(tf.constant([2.0, 3.0]) + float(i)).numpy()
""",
            """\
import tensorflow as tf
class Solver:
    def __init__(self, rate):
        self.rate = rate
        self.x = tf.Variable([1.0, 1.0])
    @tf.function
    def solve(self, target):
        self.x.assign([1.0, 1.0])
        for _ in range(6):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.square(self.x * self.x - target))
            self.x.assign_sub(self.rate * tape.gradient(loss, self.x))
        return self.x + 0.0
solver = Solver(0.05)
for i in range(5):
    r = solver.solve(tf.constant([2.0, 3.0]) + float(i)).numpy()
""",
            function="Solver.solve",
            output=True,
            changed=("solver",),
        ),
    ),
    order=50,
)
