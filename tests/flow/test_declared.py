"""What authors declare: type hints through aliases of all kinds, docstrings; and what operands are given to."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.domain.objects import show
from hybridize.facts.model import ParameterFacts
from hybridize.flow.docstrings import described, entries, names_structure

TYPES = """\
from __future__ import annotations
from typing import Any, Callable, NewType, Optional, Sequence, TypeAlias, TypeVar, Union
import numpy as np
import tensorflow as tf
TensorType = Union[np.ndarray, tf.Tensor, tf.Variable]
Plain = tf.Tensor
Piped = tf.Tensor | np.ndarray
Bound = TypeVar("Bound", bound=tf.Tensor)
Constrained = TypeVar("Constrained", tf.Tensor, np.ndarray)
Quoted = TypeVar("Quoted", bound="tf.Tensor")
Free = TypeVar("Free")
Named = NewType("Named", tf.Tensor)
Explicit: TypeAlias = "Union[tf.Tensor, float]"
Nested = Sequence[TensorType]
MaybeNested = Optional[Nested]
Numbers = Union[int, float]
Loss = Callable[[tf.Tensor], tf.Tensor]
"""
HINTS = {
    "TensorType": True,
    "'TensorType'": True,
    "types_.TensorType": True,
    "Optional[TensorType]": True,
    "Plain": True,
    "Piped": True,
    "Bound": True,
    "Constrained": True,
    "Quoted": True,
    "Named": True,
    "Explicit": True,
    "Nested": True,
    "MaybeNested": True,
    "Annotated[tf.Tensor, 'n d']": True,
    "Float[tf.Tensor, 'b n']": True,
    "gpflow.base.TensorType": True,
    "agents.NestedTensor": True,
    "Dict[str, tf.Tensor]": True,
    "'checked.Tensor'": True,
    "'Checked'": True,
    "Free": False,
    "Numbers": False,
    "Loss": False,
    "Callable[[tf.Tensor], tf.Tensor]": False,
    "Annotated[int, 'of a Tensor']": False,
    "Type[tf.Tensor]": False,
    "'no type at all'": False,
}
USES = """\
from typing import TYPE_CHECKING, Annotated, Callable, Dict, Optional, Type
import gpflow
import tensorflow as tf
from jaxtyping import Float
from tf_agents.typing import types as agents
from . import types_
from .types_ import *
if TYPE_CHECKING:
    import tensorflow as checked
    from .types_ import Plain as Checked
"""


def parameters(home: Path, files: dict[str, str], **options: bool) -> dict[str, ParameterFacts]:
    """The first parameter of each function of a package."""
    for path, text in files.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(text, encoding="utf-8")
    report = analyze([home], Config(**options), repairs=False)
    return {f.facts.qualname: f.facts.parameters[0] for f in report.functions if f.facts.parameters}


def test_hints_are_followed_to_tensors(tmp_path: Path) -> None:
    functions = "".join(f"def f{i}(x: {hint}): return x\n" for i, hint in enumerate(HINTS))
    files = {"p/__init__.py": "", "p/types_.py": TYPES, "p/m.py": USES + functions}
    found = parameters(tmp_path, files)
    assert {h: found[f"f{i}"].source == "type_hint" for i, h in enumerate(HINTS)} == HINTS


def test_an_alias_is_still_a_class_and_a_type_to_ask_for(tmp_path: Path) -> None:
    program = """\
from typing import Generic, NewType, Sequence, TypeVar, Union
import numpy as np
import tensorflow as tf
T = TypeVar("T", bound=tf.Tensor)
Array = Union[np.ndarray, tf.Tensor]
Named = NewType("Named", tf.Tensor)
class Box(Generic[T]):
    def double(self, x):
        return tf.square(x) if isinstance(x, Array) else x()
class Row(Sequence[int]):
    def __len__(self): return 1
    def __getitem__(self, i): return i
def same(x): return x
def length(x): return len(x)
print(Box().double(tf.ones(3)), same(Named(tf.ones(2))), length(Row()))
"""
    (tmp_path / "m.py").write_text(program, encoding="utf-8")
    report = analyze([tmp_path], Config(), repairs=False)
    found = {f.facts.qualname: f for f in report.functions}
    assert found["Box.double"].facts.parameters[1].tensor == "yes"
    assert found["Box.double"].facts.tensor_computation.value == "yes"
    assert not [f for f in report.findings if f.code == "HY100"]
    assert found["same"].facts.parameters[0].tensor == "yes"
    assert found["length"].facts.parameters[0].tensor == "no"


@pytest.mark.parametrize(
    ("text", "is_tensor"),
    [
        ("A `Tensor` of shape [batch, n].", True),
        ("float32 tensor, shape (n,)", True),
        ("`[batch, 4]` float Tensor", True),
        ("Optional 2-D `tf.Tensor` of type float", True),
        ("Python float or scalar `Tensor`.", True),
        ("np.ndarray", True),
        ("Tensor(s)", True),
        ("A list of tensors to sum", True),
        ("tuple of `Tensor`s", True),
        ("the query tensor to attend with", True),
        ("the number of tensors", False),
        ("Name of the tensor", False),
        ("whether to return a tensor", False),
        ("return tensors", False),
        ("Tensor dtype", False),
        ("tensor shape", False),
        ("Callable that takes a Tensor", False),
        ("TensorFlow model", False),
        ("int or float", False),
        ("", False),
    ],
)
def test_descriptions(text: str, is_tensor: bool) -> None:
    assert bool(described(text)) is is_tensor, show(described(text))


@pytest.mark.parametrize(
    ("text", "is_structure"),
    [
        ("A 5-tuple consisting of context_x, context_y", True),
        ("tuple", True),
        ("an optional tuple or dict of arrays", True),
        ("A tuple (x, y).", True),
        ("a namedtuple with the batch", True),
        ("tuple or tensor", False),
        ("A tuple, or an array of pairs", False),
        ("list of batches", False),
        ("the size of the tuple", False),
        ("tuple index", False),
        ("", False),
    ],
)
def test_descriptions_of_structures(text: str, is_structure: bool) -> None:
    assert names_structure(text) is is_structure


def test_entries_in_the_usual_styles() -> None:
    names = frozenset({"x", "y", "n"})
    google = "Args:\n  x: A `Tensor` of\n    rank 2.\n  y (tf.Tensor): it.\n  n (int): how many.\n\nReturns:\n  n: -"
    numpy = "Do.\n\nParameters\n----------\nx : tf.Tensor\n    The x.\ny\n    A tensor\nn : int, optional\n"
    sphinx = ":param tf.Tensor x: the x\n:param y: a tensor\n:type n: int"
    assert list(entries(google, names)) == [(["x"], "A `Tensor` of rank 2."), (["y"], "tf.Tensor"), (["n"], "int")]
    assert [(each, said.split()[0]) for each, said in entries(numpy, names)] == [
        (["x"], "tf.Tensor"),
        (["y"], "A"),
        (["n"], "int,"),
    ]
    assert [(each, said.strip()) for each, said in entries(sphinx, names)] == [
        (["x"], "tf.Tensor"),
        (["y"], "a tensor"),
        (["n"], "int"),
    ]


DOCUMENTED = '''\
import tensorflow as tf
def told(x, n):
    """Sums up.

    Args:
      x: A `Tensor` of shape [batch, n].
      n: The number of tensors.
    """
    return helper(x, n)
def helper(x, n):
    return x * n
def hinted(x: int):
    """Args:
      x: A `Tensor`, said once and no longer true.
    """
    return helper(x, 1)
def operands(x, y):
    difference = 0.5 * (x - y)
    return tf.abs(difference)
def sizes(n, k):
    return [i for i in range(n * k)]
'''


def test_docstrings_and_operands(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(DOCUMENTED, encoding="utf-8")
    report = analyze([tmp_path], Config(), repairs=False)
    found = {
        f.facts.qualname: {p.name: (p.tensor.value, p.source) for p in f.facts.parameters} for f in report.functions
    }
    assert found["told"]["x"] == ("yes", "docstring")
    assert found["told"]["n"][0] != "yes"
    assert found["hinted"]["x"][0] != "yes"
    assert found["operands"] == {"x": ("yes", "speculation"), "y": ("yes", "speculation")}
    assert {value for value, _ in found["sizes"].values()} == {"unknown"}


def test_without_hints_docstrings_do_not_count(tmp_path: Path) -> None:
    found = parameters(tmp_path, {"m.py": DOCUMENTED}, follow_type_hints=False)
    assert found["told"].source != "docstring"


def test_a_distributed_dataset_is_one_whoever_made_it(tmp_path: Path) -> None:
    program = """\
import tensorflow as tf
from elsewhere import load
strategy = tf.distribute.MirroredStrategy()
count = tf.Variable(0.0)
def step(iterator):
    def inner(batch):
        count.assign_add(1.0)
    strategy.run(inner, args=(next(iterator),))
batches = iter(strategy.experimental_distribute_dataset(load("train")))
for _ in range(100):
    step(batches)
"""
    (tmp_path / "m.py").write_text(program, encoding="utf-8")
    (function,) = [f for f in analyze([tmp_path], Config(), repairs=False).functions if f.facts.qualname == "step"]
    assert function.facts.tensor_parameter.value == "yes"
    assert "HY003" not in {s.code for s in function.statuses}


LISTS = """\
from typing import List
import tensorflow as tf
def copies(rows: List[tf.Tensor]):
    rows = rows[:]
    for _ in range(40):
        rows[0] = tf.tanh(rows[0]) * 2.0
    return rows[0]
def changes(rows: List[tf.Tensor]):
    for _ in range(40):
        rows[0] = tf.tanh(rows[0]) * 2.0
    return rows[0]
"""


def test_a_copy_of_a_declared_list_is_the_functions_own(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(LISTS, encoding="utf-8")
    found = {f.facts.qualname: f for f in analyze([tmp_path], Config(all_safe=True), repairs=False).functions}
    assert found["copies"].decision.precondition == "P1"
    assert "HY003" in {s.code for s in found["changes"].statuses}


RATE = """\
import tensorflow as tf
optimizer = tf.keras.optimizers.Adam(float(input()))
w = tf.Variable([1.0, 2.0])
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum((w * x) ** 2)
    optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    return loss * optimizer.learning_rate
for epoch in range(10):
    optimizer.learning_rate = 0.1 / (epoch + 1)
    for _ in range(1000):
        step(tf.constant([1.0, 2.0]))
"""


def test_the_learning_rate_is_a_variable_that_each_call_reads(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(RATE, encoding="utf-8")
    (step,) = analyze([tmp_path], Config(), repairs=False).functions
    assert "HY602" not in {s.code for s in step.statuses}
    assert step.decision.action == "convert_to_hybrid"
