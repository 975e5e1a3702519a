"""Each operation is defined once, by a class in `program.ir`; what is asked of any has an answer for each."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from hybridize.domain.objects import BOTTOM, Heap, show
from hybridize.facts.symbolic import Symbolic, parameters_of
from hybridize.flow.solve import FlowOptions, Solution, Solver
from hybridize.flow.transfer.table import HANDLERS
from hybridize.program import branching, instruction, ir
from hybridize.program.build import build_program
from hybridize.program.code import Code
from hybridize.program.index import index_of, instructions
from hybridize.program.ir import NO_SLOT, OPERATIONS, Instr
from hybridize.program.lowering import lower_module, walk_codes
from hybridize.program.operands import KNOWN_ROLES, blocks_of, edges_of, members, operands, roles, written
from hybridize.program.printer import print_code
from hybridize.source import ImportTable, discover, find_src_roots

#: What operations mean: programs, each with what some variables hold in the end, as flow finds it (`⊥`: nothing).
MEANINGS = [
    (
        """
class C:
    n = m = 1
    del m
""",
        {"C.n": "1", "C.m": "⊥"},
    ),
    (
        """
x = (1, "a")
y, *z = x
v = x[1]
""",
        {"y": "1", "z": "<list at 3>", "v": "'a'"},
    ),
    (
        """
def f():
    n = 1
    def inner():
        nonlocal n
        n = 2.0
    inner()
    return n
x = f()
""",
        {"x": "1 | 2.0"},
    ),
    (
        """
class C:
    pass
c = C()
c.n = 1
x = c.n
del c.n
""",
        {"x": "1"},
    ),
    (
        """
import away, tensorflow as tf
x: tf.Tensor = away.f()
y: tf.Tensor = (1, 2)
z: away.Kind = away.f()
""",
        {"x": "dense:?[?]", "y": "(1, 2)", "z": "?(the result of `away.f`)"},
    ),
    (
        """
def f():
    n = 0
    while n < 5:
        n += 1
        if n < 2:
            continue
        return "within"
    return "behind"
x = f()
""",
        {"x": "'within'"},
    ),
    (
        """
given = {"a": 1, "b": 2}
match given:
    case {"a": x, **others}:
        others["c"] = 3
        y = others["b"]
""",
        {"x": "1", "y": "2", "given": "<dict at 2>", "others": "<dict at 4>"},
    ),
]
#: What becomes symbolic by operations: bodies of `def f(p, q)`, each with the parameters that the result is made of.
SYMBOLIC = [
    ("(a, b), c = p, q; return [a, *c]", "pq"),
    ("found = []; found[0] = q; return found", "q"),
    ("return {p: q}", "q"),
    ("return lambda x=p: x", ""),
    ("return p is q", ""),
    ("return p < q", "pq"),
    ("x: tuple = p; return x", "p"),
]
#: Every operation that is in none of them.
PROGRAM = """
import a.b, c as d
from e import f
from g import *
x = 1
del x, a.y, a[0]
def outer(p, *, q=2):
    z = u = p
    def inner():
        nonlocal z, u
        z = 3
        del u
        global x
        x = z
        yield (yield from inner())
    with open(p) as h:
        p.n = h
        p[1] = p[q:]
    try:
        for i in p:
            if i and -i < 3:
                break
    except OSError:
        raise
    while not p:
        p += i.m * 2
    assert isinstance(p, int)
    match p:
        case [1, y] | (y, 2) if y:
            return lambda: z
    t, *rest = (p, p)
    return {1}, {2: 3}, f"{t}", [n for n in rest], {n: n for n in rest}, (n for n in rest)
async def later(p):
    await p
class C(object, metaclass=type):
    n = 1
"""


def lowered(text: str) -> list[Code]:
    return list(walk_codes(lower_module(ast.parse(text), "program.py", "program")))


def made(text: str, operation: type[Instr]) -> list[Instr]:
    """The instructions of an operation that a text is lowered to."""
    return [i for code in lowered(text) for i in instructions(code.body) if type(i) is operation]


def solved(text: str, folder: Path) -> Solution:
    (folder / "program.py").write_text(text, encoding="utf-8")
    found = discover([folder])
    return Solver(
        build_program(found.files, ImportTable(found.files, find_src_roots(found.root))), FlowOptions()
    ).solve_entries()


@pytest.mark.parametrize(("text", "expected"), MEANINGS)
def test_what_operations_mean(text: str, expected: dict[str, str], tmp_path: Path) -> None:
    module = solved(text, tmp_path).world.modules["program"]
    for path, shown in expected.items():
        name, *names = path.split(".")
        value = module.fields[name].value
        for each in names:
            (owner,) = value
            assert isinstance(owner, Heap)
            value = owner.fields[each].value if each in owner.fields else BOTTOM
        assert (path, show(value)) == (path, shown)


@pytest.mark.parametrize(("body", "expected"), SYMBOLIC)
def test_what_becomes_symbolic_by_operations(body: str, expected: str, tmp_path: Path) -> None:
    solution = solved(f"def f(p, q): {body}\nf((1, 2), (3, 4))\n", tmp_path)
    (frame,) = [each for frames in solution.frames.values() for each in frames if each.code.name == "f"]
    assert "".join("pq"[i] for i in parameters_of(Symbolic().returned(frame))) == expected


def test_every_operation_is_made_by_lowering_and_printed() -> None:
    codes = [code for text in (PROGRAM, *(text for text, _ in MEANINGS)) for code in lowered(text)]
    found = {type(instr) for code in codes for instr in instructions(code.body)}
    assert found == set(OPERATIONS)
    text = "".join(map(print_code, codes))
    assert [each.__name__ for each in OPERATIONS if f" {each.__name__}" not in text] == []


def test_every_operation_has_a_transfer_function() -> None:
    assert set(HANDLERS) == set(OPERATIONS)


def test_every_role_is_known() -> None:
    """What no table knows would be read, written and walked by nobody, silently; fields of other types are data."""
    texts = [Path(str(module.__file__)).read_text(encoding="utf-8") for module in (instruction, branching, ir)]
    declared = {name for text in texts for name in re.findall(r"^(\w+): TypeAlias", text, re.MULTILINE)}
    assert {"Slot", "Starred", "Block", "Joins"} <= declared
    used = {role for each in (*OPERATIONS, ir.Handler) for role in roles(each).values()}
    assert used & declared <= KNOWN_ROLES


@pytest.mark.parametrize(
    ("instr", "read"),
    [
        (ir.Call(0, 9, 1, ((2, False), (3, True)), (("k", 4), (None, 5))), [1, 2, 3, 4, 5]),
        (ir.Dict(0, 9, ((1, 2), (NO_SLOT, 3))), [1, 2, 3]),
        (ir.Slice(0, 9, 1, NO_SLOT, 2), [1, 2]),
        (ir.Phi(0, 9, ((0, 1), (ir.ALWAYS, 2))), [1, 2]),
        (ir.Raise(0, NO_SLOT), []),
        (ir.SetItem(0, 1, 2, 3), [1, 2, 3]),
        (ir.Unpack(0, (7, 8), 1, -1), [1]),
        (ir.DelLocal(0, 1), []),
        (ir.Refine(0, 9, 1, "isinstance", True, 2), [1]),
        (ir.Annotated(0, 9, 1, ast.Name("int")), [1]),
        (ir.Class(0, 9, None, ((1, False),), (("metaclass", 2),)), [1, 2]),  # type: ignore[arg-type]
    ],
    ids=lambda value: type(value).__name__,
)
def test_operands_are_the_slots_that_the_program_reads(instr: Instr, read: list[int]) -> None:
    assert operands(instr) == read


@pytest.mark.parametrize(
    ("ask", "expected"),
    [(operands, [1, 2]), (edges_of, [10, 11, 12, 13, 14]), (written, []), (blocks_of, [(), (), (), ()])],
)
def test_a_loop(ask: Callable[[Instr], list[object]], expected: list[object]) -> None:
    loop = ir.Loop(0, (), (), 1, (), (), 10, 11, 12, 13, True, 2, breaks=(14,))
    assert ask(loop) == expected


@pytest.mark.parametrize(
    ("ask", "expected"),
    [(operands, [1]), (edges_of, [10, 11]), (blocks_of, [("body",), (), (), ("catch",), (), (), ()])],
)
def test_of_a_try_statement_its_handlers_count(ask: Callable[[Instr], list[object]], expected: list[object]) -> None:
    handler = ir.Handler((), (), 1, NO_SLOT, ("catch",), 10)  # type: ignore[arg-type]
    statement = ir.Try(0, ("body",), (handler,), (), 11, (), ())  # type: ignore[arg-type]
    assert ask(statement) == expected


def test_an_instruction_writes_its_targets() -> None:
    (unpack,) = made("a, *b = x", ir.Unpack)
    assert isinstance(unpack, ir.Unpack)
    assert (written(unpack), unpack.star, unpack.target) == (list(unpack.targets), 1, NO_SLOT)
    (call,) = made("f()", ir.Call)
    assert written(call) == [call.target]


def test_two_instructions_are_never_equal() -> None:
    """They are keys of what is known of them."""
    assert ir.Jump(0, 1) != ir.Jump(0, 1)


def test_printing_shows_roles_and_blocks() -> None:
    (code,) = lowered("for x in f(*y):\n    g[x] = 1\n")
    lines = print_code(code).splitlines()
    assert lines[4] == "  1: %2 = Call function=%0 arguments=(*%1) keywords=()"
    assert lines[5].startswith("  1: Loop condition=- entry=@0 back=@1 exhausted=@2 done=@3 is_for=True iterable=%2")
    assert lines[6:10] == ["  phis", "    1: %4 = Phi incoming=(@1: %3)", "  test", "    1: %3 = Iter source=%2"]
    assert lines[13] == "    2: SetItem owner=%6 index=%3 value=%5"


def test_annotations_are_printed_as_they_are_written() -> None:
    (code,) = lowered("x: list[int] = f()\n")
    assert "1: %2 = Annotated source=%1 annotation=list[int]" in print_code(code)


#: The fields that all operations of a group have.
GROUPS = {
    ir.Load: {"target", "name"},
    ir.Store: {"value"},
    ir.Assignment: {"name", "value"},
    ir.Change: {"owner"},
    ir.Fill: {"owner", "value"},
    ir.Part: {"source"},
    ir.Copy: {"target", "source"},
    ir.Computed: {"target", "operator"},
    ir.TwoSided: {"left", "right"},
    ir.Sequence: {"target", "elements"},
}


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.__name__)
def test_what_operations_are_alike_in_holds_for_all_of_a_group(group: type[Instr]) -> None:
    assert members(group)
    for operation in members(group):
        assert GROUPS[group] <= roles(operation).keys()


def test_what_ends_a_block_writes_nothing_and_what_passes_on_reads() -> None:
    """A group is no operation itself."""
    assert not {each for operation in OPERATIONS for each in operation.__mro__[1:-1]} & set(OPERATIONS)
    assert not any("Target" in roles(each).values() for each in members(ir.Ending))
    assert all({"Slot", "Incoming"} & set(roles(each).values()) for each in members(ir.Passing))


def test_an_index_knows_operations_and_groups() -> None:
    (code,) = lowered("a.b = x\nc[0] = x\ndel d.e, f[1]\n")
    index = index_of(code)
    assert [type(each) for each in index.of(ir.Change)] == [ir.SetAttr, ir.SetItem, ir.DelAttr, ir.DelItem]
    assert [type(each) for each in index.of(ir.DelItem, ir.Assignment)] == [ir.DelItem, ir.SetAttr]
    assert index.of(ir.Loop) == []
