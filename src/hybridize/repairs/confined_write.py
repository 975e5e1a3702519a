"""HY820: a field that only the call reads which writes it -> a comment that says so, and a graph that writes it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from hybridize.domain.objects import Inst
from hybridize.repairs.holding.confined import confined, stands_on_a_way
from hybridize.repairs.holding.fields import Use, field_of, fills, holds_new, is_constructor, is_filled, receiver
from hybridize.repairs.model import Cause, Change, NotOffered, Repair, RepairExample
from hybridize.repairs.source.bench import Bench
from hybridize.repairs.source.edits import TextEdit
from hybridize.repairs.source.text import SourceFile, end, start
from hybridize.source.syntax import walk

_CODE = "HY206"


def propose(bench: Bench, cause: Cause) -> Iterator[Change]:
    """A field of an object of the project, or a list or dictionary that each call puts into one anew."""
    file = bench.file(cause.path)
    if file is None or cause.reason is None or cause.function in bench.project.solution.world.hybrids:
        return
    found = field_of(cause) or _field_filled(bench, file, cause)
    if found is None:
        return
    name = found[1]
    known = confined(bench, *found)
    own = cause.reason.frame.code
    here = [use for use in known.uses if use.file is file and use.code is own and not is_constructor(use)]
    changes = [use for use in here if use.kind != "read" or is_filled(use)]
    if not any(use.node.lineno == cause.line for use in changes):
        return
    if stands_on_a_way(bench, here):
        raise NotOffered(f"`{name}` is written under a condition on a tensor")
    if any(use.kind == "read" for use in changes) and not holds_new(here):
        raise NotOffered(f"what `{name}` holds may be older than the call")
    edits = tuple(_comment(file, changes, line, name) for line in sorted({use.node.lineno for use in changes}))
    doubt = f"nobody outside of the call may read `{name}`: it holds a symbol of the graph afterwards"
    if known.getters:
        doubt += f" (`{known.getters[0]}`, which the project does not call, would return it)"
    spans = tuple((file.path, start(use.statement), end(use.statement)) for use in changes)
    yield Change(edits, f"only the call itself needs the field `{name}`: a comment answers for it", doubt, spans=spans)


def _field_filled(bench: Bench, file: SourceFile, cause: Cause) -> tuple[Inst, str] | None:
    """The object and the field that hold the list or dictionary which a side effect changes."""
    for node in file.attributes_at(cause.line):
        code = bench.code_around(file, node)
        if isinstance(node.ctx, ast.Load) and fills(file, node) and code is not None:
            owners = [o for o in receiver(bench, code, node) if isinstance(o, Inst)]
            if owners:
                return min(owners, key=lambda o: o.site[1]), node.attr
    return None


def _comment(file: SourceFile, here: list[Use], line: int, name: str) -> TextEdit:
    """The comment at the end of a line; raises NotOffered where the line ends within a string or goes on."""
    text = file.lines[line - 1]
    strings = [
        node
        for use in here
        for node in walk(use.statement)
        if isinstance(node, (ast.Constant, ast.JoinedStr)) and start(node)[0] <= line < end(node)[0]
    ]
    if strings or text.endswith(b"\\"):
        raise NotOffered(f"line {line} has no room for a comment")
    place = (line, len(text.rstrip()))
    return TextEdit(
        file.path, place, (line, len(text)), f"  # hybridize: ignore[{_CODE}] -- only this call reads `{name}`"
    )


REPAIR = Repair(
    code="HY820",
    name="confined-write",
    removes=frozenset({"HY003", "HY206", "HY601"}),
    summary="A field that only the call itself reads is written by the graph, too, and a comment answers for that.",
    details="""A layer that keeps a tensor on itself in `call` (`self.attention = weights`) changes Python state. As a
graph it does so once per trace, and what stays in the field is a symbol without a value. Where every read of the field
in the project comes behind the write in the same call, nobody sees a difference. Tests and notebooks count, and so do
`getattr`, `vars`, `copy`, `pickle` and unknown objects. The write stays as it is, for who runs the code eagerly; the
comment `# hybridize: ignore[HY206]` lets it pass.""",
    safety="""Never safe: code outside of the project may look at the field, perhaps through a method that hands it out
and that nobody in the project calls. It would find a symbol of the graph.""",
    propose=propose,
    examples=(
        RepairExample(
            """\
import tensorflow as tf
class Attention(tf.Module):
    def __init__(self):
        self.w = tf.Variable(tf.ones([4, 4]))
        self.scores = None
    def attend(self, x):
        for _ in range(6):
            x = tf.tanh(tf.matmul(x, self.w)) + x * 0.5
        self.scores = tf.nn.softmax(x)
        return tf.matmul(self.scores, self.w)
    def last_scores(self):
        return self.scores
attention = Attention()
for _ in range(5):
    r = attention.attend(tf.ones([2, 4])).numpy()
""",
            """\
import tensorflow as tf
class Attention(tf.Module):
    def __init__(self):
        self.w = tf.Variable(tf.ones([4, 4]))
        self.scores = None
    @tf.function
    def attend(self, x):
        for _ in range(6):
            x = tf.tanh(tf.matmul(x, self.w)) + x * 0.5
        self.scores = tf.nn.softmax(x)  # hybridize: ignore[HY206] -- only this call reads `scores`
        return tf.matmul(self.scores, self.w)
    def last_scores(self):
        return self.scores
attention = Attention()
for _ in range(5):
    r = attention.attend(tf.ones([2, 4])).numpy()
""",
            function="Attention.attend",
            output=True,
            changed=("attention.scores",),
        ),
        RepairExample(
            """\
import tensorflow as tf
class Encoder:
    def __init__(self):
        self.w = tf.Variable(tf.ones([4, 4]) * 0.2)
        self.states = None
    def __call__(self, x):
        for _ in range(4):
            x = tf.tanh(tf.matmul(x, self.w)) + 0.1 * x
        self.states = x
        return self
    def get_states(self):
        return self.states
    def get_pooled(self):
        return tf.reduce_mean(self.states, axis=1)
class Tagger:
    def __init__(self):
        self.encoder = Encoder()
        self.out = tf.Variable(tf.ones([4, 2]))
    def call(self, x):
        encoded = self.encoder(x)
        return tf.nn.softmax(tf.matmul(encoded.get_states(), self.out))
tagger = Tagger()
for i in range(4):
    r = tagger.call(tf.ones([2, 4]) * i).numpy()
""",
            """\
import tensorflow as tf
class Encoder:
    def __init__(self):
        self.w = tf.Variable(tf.ones([4, 4]) * 0.2)
        self.states = None
    def __call__(self, x):
        for _ in range(4):
            x = tf.tanh(tf.matmul(x, self.w)) + 0.1 * x
        self.states = x  # hybridize: ignore[HY206] -- only this call reads `states`
        return self
    def get_states(self):
        return self.states
    def get_pooled(self):
        return tf.reduce_mean(self.states, axis=1)
class Tagger:
    def __init__(self):
        self.encoder = Encoder()
        self.out = tf.Variable(tf.ones([4, 2]))
    @tf.function
    def call(self, x):
        encoded = self.encoder(x)
        return tf.nn.softmax(tf.matmul(encoded.get_states(), self.out))
tagger = Tagger()
for i in range(4):
    r = tagger.call(tf.ones([2, 4]) * i).numpy()
""",
            function="Tagger.call",
            output=True,
            changed=("tagger.encoder",),
        ),
    ),
    order=80,
)
