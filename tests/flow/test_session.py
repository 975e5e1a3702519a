"""Several analyses side by side in one process: each says what it says alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import hybridize
from hybridize import api
from hybridize.config import Config
from hybridize.deciding import Deciding
from hybridize.domain.objects import literal, tensor
from hybridize.domain.session import Session, Table, begin_solution, cached, solved
from hybridize.facts.symbolic import Symbolic
from hybridize.flow.solve import FlowOptions, Solver
from hybridize.program.build import build_program
from hybridize.tracing.views import ProjectView

#: Two programs with functions, classes and values of the same names that are not the same.
ONE = """
import tensorflow as tf

class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(4)
        self.count = 0

    def call(self, x):
        self.count += 1
        return self.dense(x)

def step(net, optimizer, x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((net(x) - y) ** 2)
    grads = tape.gradient(loss, net.trainable_variables)
    optimizer.apply_gradients(zip(grads, net.trainable_variables))
    return loss

net, optimizer = Net(), tf.keras.optimizers.SGD()
for x, y in tf.data.Dataset.from_tensor_slices((tf.ones([100, 3]), tf.ones([100, 4]))).batch(32):
    step(net, optimizer, x, y)
"""
TWO = ONE.replace("        self.count += 1\n", "").replace("[100, 3]", "[4000, 3]").replace("batch(32)", "batch(8)")


@pytest.fixture(params=["two programs", "the examples"])
def projects(request: pytest.FixtureRequest, tmp_path: Path) -> list[Path]:
    if request.param == "the examples":
        examples = Path(__file__).parents[2] / "examples"
        return [*sorted(p for p in examples.iterdir() if p.is_dir())[:1], _program(tmp_path, "one", ONE)]
    return [_program(tmp_path, "one", ONE), _program(tmp_path, "two", TWO)]


def _program(folder: Path, name: str, text: str) -> Path:
    made = folder / name
    made.mkdir()
    (made / "program.py").write_text(text, encoding="utf-8")
    return made


def _said(project: Path) -> dict[str, Any]:
    return _timeless(api.to_dict(api.check(project, Config())))


def _timeless(data: dict[str, Any]) -> dict[str, Any]:
    """A report without what the clock says."""
    data["project"].pop("seconds", None)
    return data


def _phases(project: Path, found: list[Deciding]) -> Iterator[str]:
    inputs = api.inputs_of([project], Config())
    deciding = Deciding(build_program(inputs.files, inputs.imports, read=inputs.read), Config(), inputs)
    found.append(deciding)
    yield from deciding.phases(None, repairs=True)


def test_two_analyses_take_turns(projects: list[Path]) -> None:
    """Phase by phase, in one thread: functions, findings and repairs are those of each analysis alone."""
    alone: list[Deciding] = []
    for project in projects:
        for _ in _phases(project, alone):
            pass
    together: list[Deciding] = []
    first, second = (_phases(project, together) for project in projects)
    done = list(zip(first, second, strict=True))
    assert len(done) > 3
    for one, other in zip(alone, together, strict=True):
        assert one.functions == other.functions
        assert one.findings == other.findings
        assert [repr(b) for b in one.bundles] == [repr(b) for b in other.bundles]


def test_analyses_in_threads(projects: list[Path]) -> None:
    alone = [_said(project) for project in projects]
    with ThreadPoolExecutor(4) as pool:
        for expected, got in zip(alone * 3, pool.map(_said, projects * 3), strict=True):
            assert got == expected


@pytest.mark.parametrize("kept", [False, True])
def test_what_only_solving_needs_goes_with_the_last_of_it(kept: bool, tmp_path: Path) -> None:
    """Not where somebody keeps the program, to ask it again after edits."""
    inputs = api.inputs_of([_program(tmp_path, "one", ONE)], Config())
    deciding = Deciding(build_program(inputs.files, inputs.imports, read=inputs.read), Config(), inputs)
    deciding.run(None, repairs=False, after=(lambda _phase, _by: None) if kept else None)
    assert deciding._solved is not None
    frames = deciding._solved[1].engine.world.frames
    assert any(frame.steps for frame in frames) is kept
    assert any(frame.waiters for frame in frames) is kept


def test_both_phases_have_one_tree_of_a_file(tmp_path: Path) -> None:
    """Also where it is parsed again, for the program has too many lines to keep all trees."""
    inputs = api.inputs_of([_program(tmp_path, "one", ONE)], Config())
    program = build_program(inputs.files, inputs.imports, read=inputs.read)
    for module in program.modules.values():
        module.code.node = None
    solver = Solver(program, FlowOptions())
    first = solver.solve_entries()
    with solver.session.active():
        trees = [ProjectView(each, Symbolic()).module("program.py") for each in (first, first)]
    assert trees[0] is not None
    assert trees[0] is trees[1]


def test_an_analysis_leaves_nothing_behind(tmp_path: Path) -> None:
    """The objects of an ended analysis go with it."""
    table = Table[str, int]()
    session = Session()
    with session.active():
        table.here()["x"] = 1
        inner = tensor("dense", "float32", (3, 4099))
    assert not table.here()
    with Session().active():
        assert not table.here()
        again = tensor("dense", "float32", (3, 4099))
        assert again is not inner
        assert again == inner  # named by the same content, and so of the same number
        assert literal(None) is literal(None)
    with session.active():
        assert table.here() == {"x": 1}
        assert tensor("dense", "float32", (3, 4099)) is inner


def test_what_rests_on_a_solution_goes_when_another_one_begins() -> None:
    asked: list[str] = []
    kept, read = cached(asked.append), solved(asked.append)
    noted = Table[str, int](solved=True)
    with Session().active():
        for _ in range(2):
            kept("code")
            read("frame")
            noted.here()["x"] = 1
        begin_solution()
        assert not noted.here()
        kept("code")
        read("frame")
    assert asked == ["code", "frame", "frame"]


def test_what_gives_values_is_not_kept_by_functools() -> None:
    """Its results would be the objects of the session that asked first: `domain.session.cached` is for these."""
    wrong: list[str] = []
    for file in sorted((Path(hybridize.__file__).parent).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef) or node.returns is None:
                continue
            kept = {name for decorator in node.decorator_list for name in _names(decorator)}
            if kept & {"cache", "lru_cache"} and {"Value", "Obj"} & _names(node.returns):
                wrong.append(f"{file}:{node.lineno}")
    assert not wrong


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
