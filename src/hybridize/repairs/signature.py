"""HY813: an `input_signature` that rejects calls of the program -> one that accepts them (P5)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import zip_longest

from hybridize.domain.objects import Value
from hybridize.facts.functions.specs import Leaf, Signature, Spec, spec_of
from hybridize.facts.functions.static_reads import StaticReads
from hybridize.program.ir import Code
from hybridize.records import replace
from hybridize.repairs.model import Cause, Change, NotOffered, Repair, RepairExample
from hybridize.repairs.source.bench import Bench
from hybridize.repairs.source.text import end, start

_NAME = "input_signature"


def propose(bench: Bench, cause: Cause) -> Iterator[Change]:
    """A signature in the decorator, and calls whose tensors are all known."""
    code = cause.function
    file, node = bench.file(code.path), bench.function_node(code)
    tf = file.tensorflow if file is not None else None
    if file is None or node is None or tf is None or cause.hit is None:
        return
    words = [k for d in node.decorator_list if isinstance(d, ast.Call) for k in d.keywords if k.arg == _NAME]
    if len(words) != 1:
        raise NotOffered("the signature is not in the decorator")
    old = words[0].value
    if not isinstance(old, (ast.List, ast.Tuple)):
        raise NotOffered("the signature is made elsewhere")
    signature = _inferred(bench, code, is_method=_is_method(code))
    signature.specs = [_widened(spec, was) for spec, was in zip_longest(signature.specs, old.elts) if spec is not None]
    open_ = [leaf for leaf in signature.leaves if leaf.shape is None or None in leaf.shape]
    reads = StaticReads(bench.project.symbolic)
    ranks = any(leaf.shape is None for leaf in open_)
    if open_ and reads.conflict(bench.frames(code), any_rank=ranks) is not None:
        raise NotOffered("a size that the signature would leave open is read while the function is traced")
    source = signature.source.replace("tf.", f"{tf}.")
    if ast.dump(ast.parse(source, mode="eval").body) == ast.dump(old):
        return
    edit = file.replace(old, source)
    said = "the signature becomes one that accepts what the program passes"
    doubt = "calls from elsewhere may rely on the old signature, and on its conversions"
    spans = [(file.path, start(old), end(old)), (file.path, start(node.decorator_list[0]), start(node.body[0]))]
    spans.append((cause.path, cause.place, (cause.line, cause.place[1] + 1)))
    yield Change((edit,), said, doubt, spans=tuple(spans))


def _is_method(code: Code) -> bool:
    return code.in_class and bool(code.params)


def _widened(spec: Spec, old: ast.expr | None) -> Spec:
    """A spec that leaves open what the old one did."""
    if not isinstance(spec, Leaf) or spec.shape is None or not isinstance(old, ast.Call) or not old.args:
        return spec
    dims = old.args[0].elts if isinstance(old.args[0], (ast.List, ast.Tuple)) else []
    if len(dims) != len(spec.shape):
        return spec
    opened = [isinstance(d, ast.Constant) and d.value is None for d in dims]
    return replace(spec, shape=tuple(None if o else n for n, o in zip(spec.shape, opened, strict=True)))


def _inferred(bench: Bench, code: Code, *, is_method: bool) -> Signature:
    """A signature that accepts all calls; raises NotOffered with the reason where there is none."""
    result = Signature()
    if is_method and code.params[0].name != "self":
        raise NotOffered("a signature would cover its first parameter")
    explicit = 0
    for frame in bench.frames(code):
        explicit |= frame.explicit
    for index, param in enumerate(code.params):
        if index < is_method:
            continue
        given = _given(bench, code, index)
        if not param.by_place:
            if given and explicit >> index & 1:
                raise NotOffered(f"`{param.name}` cannot be part of a signature")
            continue
        if param.has_default and not explicit >> index & 1:
            continue
        spec = spec_of(given, param.name, result)
        if spec is not None:
            result.specs.append(spec)
    if result.problems or not result.specs:
        raise NotOffered(result.problems[0] if result.problems else "no call tells what it receives")
    return result


def _given(bench: Bench, code: Code, index: int) -> list[Value]:
    """What the calls of the program pass for a parameter."""
    found: list[Value] = []
    for frame in bench.frames(code):
        for (caller, pos), args in frame.incoming.items():
            if caller is None or frame.started_by(caller, pos):
                raise NotOffered("not all calls of the function are known")
            if args[index]:
                found.append(args[index])
    return found


REPAIR = Repair(
    code="HY813",
    name="signature-that-accepts",
    removes=frozenset({"HY270"}),
    summary="An `input_signature` that rejects calls of the program is replaced by one that accepts them (P5).",
    details="""A call whose dtype, rank or sizes an `input_signature` does not allow raises. The new signature is
inferred from all calls of the program as P4 does it: equal sizes stay, others become None, and what was None stays so.
Offered where the decorator spells the signature out, every call's tensors are known, and no size that it leaves open is
read while the function is traced.""",
    safety="Never safe: code elsewhere may rely on the old signature, and on what it converts.",
    propose=propose,
    examples=(
        RepairExample(
            """\
import tensorflow as tf
@tf.function(input_signature=[tf.TensorSpec([2], tf.float32)])
def total(x):
    for _ in range(12):
        x = tf.sin(x) + 0.5 * x
    return tf.reduce_sum(x)
for n in (2, 3, 4):
    try:
        r = total(tf.ones([n])).numpy()
    except (TypeError, ValueError):
        r = None
""",
            """\
import tensorflow as tf
@tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
def total(x):
    for _ in range(12):
        x = tf.sin(x) + 0.5 * x
    return tf.reduce_sum(x)
for n in (2, 3, 4):
    try:
        r = total(tf.ones([n])).numpy()
    except (TypeError, ValueError):
        r = None
""",
            function="total",
            output=True,
            changed=("*",),
        ),
        RepairExample(
            """\
import tensorflow as tf
class Net(tf.Module):
    @tf.function(
        input_signature=[tf.TensorSpec([None, 3], tf.int32)],  # as exported
        autograph=False,
    )
    def forward(self, x):
        for _ in range(6):
            x = tf.tanh(x) + tf.sin(x) * 0.5
        return x
net = Net()
r = net.forward(tf.ones([2, 3])).numpy()
""",
            """\
import tensorflow as tf
class Net(tf.Module):
    @tf.function(
        input_signature=[tf.TensorSpec([None, 3], tf.float32)],  # as exported
        autograph=False,
    )
    def forward(self, x):
        for _ in range(6):
            x = tf.tanh(x) + tf.sin(x) * 0.5
        return x
net = Net()
r = net.forward(tf.ones([2, 3])).numpy()
""",
            function="Net.forward",
            output=True,
            changed=("*",),
        ),
    ),
)
