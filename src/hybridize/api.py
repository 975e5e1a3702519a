"""The library interface: from paths to a report.

from pathlib import Path
from hybridize.api import analyze
from hybridize.config import Config

report = analyze([Path("my_project")], Config())
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from hybridize.config import Config
from hybridize.decide.model import (
    Action,
    Assumption,
    Confidence,
    FileError,
    Finding,
    FunctionReport,
    ProjectInfo,
    Report,
    Severity,
)
from hybridize.facts.model import Mode, Ternary
from hybridize.records import replace
from hybridize.source import (
    ImportTable,
    Roles,
    SourceText,
    Versions,
    discover,
    find_roles,
    find_src_roots,
    package_name,
    project_versions,
    read_source,
)

if TYPE_CHECKING:
    from hybridize.decide.plan import Basis, Plan, Wanted
    from hybridize.flow.solve import Solution
    from hybridize.program.build import Program
    from hybridize.program.ir import Code
    from hybridize.repairs.model import Bundle
    from hybridize.rules.model import RuleHit
    from hybridize.rules.views import FunctionView, ProjectView

#: The rule that suggests functions to extract: not from code that becomes a graph as a whole.
_SUGGESTED = "HY110"
#: What is told of places that run eagerly only.
_OUTSIDE = (_SUGGESTED, "HY106", "HY107")
#: The repair that takes such a step out of its loop.
_STEP = "HY818"
#: Called with a phase, how much of it is done, and how much there is (0: not known).
Progress: TypeAlias = Callable[[str, int, int], None]


def analyze(
    paths: Sequence[Path],
    config: Config,
    *,
    progress: Progress | None = None,
    contents: Mapping[str, bytes] | None = None,
    repairs: bool = True,
) -> Report:
    """Decides about every function below some paths; never imports or runs what it reads.

    Args:
        paths: files and folders; names that are not Python files or notebooks are taken as given.
        config: the options in force.
        progress: told about phases, for a progress line.
        contents: the bytes of files, by their path from the root, that are not to be read from disk.
        repairs: whether to look for `Report.repairs`; a twentieth of the time, for those who do not show them.

    Returns:
        Facts, decisions and statuses by function; what could not be read is in `errors`, paths that do not exist in
        `missing`.
    """
    started = time.perf_counter()
    program, missing, errors, root = _load(paths, config, progress, contents)
    versions = project_versions(root, config.tensorflow_version, _texts(program).values())
    enabled = gc.isenabled()
    gc.disable()  # the heap of an analysis lives until its end: collections would only walk it
    try:
        functions, found, bundles = (
            _functions(program, config, root, progress, versions, repairs=repairs) if program.modules else ([], [], [])
        )
    finally:
        if enabled:
            gc.enable()
    assumptions = tuple(
        Assumption(f.facts.id, said.message, said.path, said.line) for f in functions for said in f.facts.assumptions
    )
    info = ProjectInfo(str(root), program.files, program.lines, time.perf_counter() - started, versions)
    return Report(info, tuple(functions), tuple(found), assumptions, tuple(errors), missing, tuple(bundles))


def versions_of(paths: Sequence[Path], config: Config) -> Versions:
    """What the project of some paths may run on, and who says so."""
    found = discover(paths, exclude=config.exclude, exclude_base=config.directory)
    read = [read_source(file) for file in found.files]
    texts = [each.text for each in read if isinstance(each, SourceText)]
    return project_versions(found.root, config.tensorflow_version, texts)


def debug(paths: Sequence[Path], config: Config, what: str) -> str:
    """A listing for people who work on hybridize: `ir`, `flow` or `facts`."""
    from hybridize.debugging import listing

    program, _, _, _ = _load(paths, config, None)
    return listing(program, config, what)


def _load(
    paths: Sequence[Path],
    config: Config,
    progress: Progress | None,
    contents: Mapping[str, bytes] | None = None,
) -> tuple[Program, tuple[str, ...], list[FileError], Path]:
    from hybridize.program.build import build_program

    found = discover(paths, exclude=config.exclude, exclude_base=config.directory)
    sources = find_src_roots(found.root, config.src)
    table = ImportTable(found.files, sources, root_name=package_name(found.root), external=_external())
    total = len(found.files)
    program = build_program(
        found.files, table, None if progress is None else lambda done: progress("reading", done, total), contents
    )
    errors = [FileError(e.path, e.line, e.message) for e in (*found.errors, *program.errors)]
    errors.sort(key=lambda e: (e.path, e.line))
    return program, tuple(str(p) for p in found.missing), errors, found.root


def _texts(program: Program) -> dict[str, str]:
    return {m.code.path: m.text.text for m in program.modules.values() if m.text is not None}


def _external() -> frozenset[str]:
    """Top-level names that are libraries even where a folder of the project is called the same."""
    import sys

    return frozenset(sys.stdlib_module_names) | {"tensorflow", "keras", "tf_keras", "numpy"}


def _functions(
    program: Program, config: Config, root: Path, progress: Progress | None, versions: Versions, *, repairs: bool
) -> tuple[list[FunctionReport], list[Finding], list[Bundle]]:
    from hybridize.decide.compilation import Compilation
    from hybridize.decide.plan import Basis, Wanted
    from hybridize.decide.preconditions import Options, decide, finding, findings
    from hybridize.decide.suppress import Suppressions
    from hybridize.facts.collect import Collector, FactOptions
    from hybridize.flow.solve import FlowOptions, Solver
    from hybridize.rules.assumed import settled
    from hybridize.rules.scan import Scanner

    options = FactOptions(config.follow_type_hints, config.speculate, config.boolean_literals)
    decisions = Options(config.strict_literals)
    solver = Solver(program, FlowOptions(config.test_entry_points, config.follow_type_hints, config.speculate))
    if progress is not None:
        progress("solving", 0, 0)
    first = solver.solve_entries()
    texts = _texts(program)
    roles = find_roles(root, texts, config.world)
    suppressions = Suppressions(texts)
    pairs = program.functions()
    reports: dict[int, FunctionReport] = {}
    found: list[Finding] = []
    broken: dict[int, tuple[FunctionView, list[RuleHit]]] = {}
    for solution in (first, None):
        solved: Solution = solution or solver.solve_rest(first)
        if progress is not None:
            progress("deciding", len(reports), len(pairs))
        collector = Collector(solved, options, *((suppressions.vouches,) if suppressions.any else ()))
        scanner = Scanner(solved, versions, roles)
        scanner.project.effects = collector.effects
        views = {
            i: scanner.view(code, solved.frames.get(code, []), collector.facts(module, code))
            for i, (module, code) in enumerate(pairs)
            if (code in first.reached) == (solution is not None)
        }
        every = suppressions.any or solved.world.is_small
        asked = [i for i, view in views.items() if _may_be_graph(view, every=every)]
        # What blocks nothing is told of hybrid functions only; it may still be what a comment silences.
        hits = dict(zip(asked, scanner.hits([views[i] for i in asked], every=suppressions.any), strict=True))
        for i, bare in views.items():
            told = hits[i] if i in hits else scanner.bare_hits(bare) if _is_known(bare) else []
            view, told = settled(bare, told) if config.speculate else (bare, told)
            remaining = suppressions.remaining(view.facts, told)
            reports[i] = suppressions.apply(decide(view.facts, decisions, remaining))
            if view.facts.candidate and (reports[i].decision.precondition is None or view.is_hybrid):
                broken[i] = (view, remaining)
            found += _in_tests(findings(view.facts, remaining), roles, view.facts.path)
        if solution is None:
            rest = [
                h for h in scanner.project_hits() if not suppressions.silences(h.path, h.line, h.rule.code, h.rule.name)
            ]
            found += _in_tests([finding(hit, None) for hit in rest], roles)
    codes = [code for _, code in pairs]
    basis = Basis.of(scanner, collector.extents.components, root)
    wanted = Wanted(config.all_safe, Confidence(config.confidence))
    planned, configured = _planned(codes, [reports[i] for i in sorted(reports)], basis, wanted, first.reached, config)
    compilation = Compilation(scanner.project, basis, asked=config.jit_compile)
    configured = [compilation.configure(code, report) for code, report in zip(codes, configured, strict=True)]
    functions = [suppressions.apply(report) for report in configured]
    found += suppressions.unused()
    # Where a graph calls, an argument is what it is at each of its traces, and a step is part of it.
    found = [f for f in found if f.code not in _OUTSIDE or not planned.in_graph(f.path, f.line)]
    # Only now, for what a repair changes may be used where the program itself does not get.
    bundles: list[Bundle] = []
    if repairs:
        steps = [h for h in rest if h.rule.code == _SUGGESTED and not planned.in_graph(h.path, h.line)]
        bundles = _bundles(scanner.project, [broken[i] for i in sorted(broken)], steps)
        # What tests are written for may be the very thing that a repair would mend.
        bundles = [each for each in bundles if config.all_safe or not roles.is_test(each.path)]
        found = _with_fixes(found, bundles)
    return functions, _distinct(found), bundles


def _planned(
    codes: Sequence[Code],
    decided: list[FunctionReport],
    basis: Basis,
    wanted: Wanted,
    reached: set[Code],
    config: Config,
) -> tuple[Plan, list[FunctionReport]]:
    """The plan, and its reports with arguments for decorators.

    What turns out to be traced for each size is left out, and the plan made again: what that calls may gain by itself.
    """
    from hybridize.decide.plan import plan
    from hybridize.decide.signatures import Signatures

    asked, every, project = config.infer_input_signatures, config.all_safe, basis.scanner.project
    while True:
        planned = plan(codes, decided, basis, wanted)
        signatures = Signatures(project, reached, planned.graphs, asked=asked, all_safe=every)
        configured = [signatures.configure(*pair) for pair in zip(codes, planned.reports, strict=True)]
        dropped = False
        for i, (was, now) in enumerate(zip(planned.reports, configured, strict=True)):
            if was.decision.action is Action.CONVERT_TO_HYBRID and now.decision.action is Action.KEEP:
                decided[i], dropped = now, True
        if not dropped:
            return planned, configured


def _in_tests(found: list[Finding], roles: Roles, function: str = "") -> list[Finding]:
    """Findings; those in tests and of their functions as information: it may be what is tested, and costs little."""
    return [
        replace(f, severity=Severity.INFO) if roles.is_test(f.path) or roles.is_test(function) else f for f in found
    ]


def _with_fixes(found: Sequence[Finding], bundles: Sequence[Bundle]) -> list[Finding]:
    """The findings with what their repairs are: those of their function, or of their line where they have none."""
    fixes: dict[tuple[str, str], str] = {}
    for bundle in bundles:
        for repair in bundle.repairs if bundle.hybrid or bundle.complete else ():
            for code in repair.answers:
                for place in (bundle.function, f"{repair.path}:{repair.line}"):
                    safe = repair.safe and fixes.get((code, place)) != "unsafe"
                    fixes[code, place] = "safe" if safe else "unsafe"
    return [replace(f, fix=fixes.get((f.code, f.function or f"{f.path}:{f.line}"))) for f in found]


def _bundles(
    project: ProjectView, broken: Sequence[tuple[FunctionView, list[RuleHit]]], steps: Sequence[RuleHit]
) -> list[Bundle]:
    """What functions need to be made hybrid, or to be better graphs; steps in loops that can be functions."""
    if not broken and not steps:
        return []
    from hybridize.repairs.collect import Repairs

    found = Repairs(project)
    made = [found.bundle(view, hits) for view, hits in broken] + [found.suggested(hit) for hit in steps]
    bundles = [bundle for bundle in made if bundle is not None]
    # Of two that change the same lines the first is made: a whole function, then the step of a loop, then any part.
    return sorted(bundles, key=lambda b: (not b.complete, b.makes != "", b.repairs[0].code != _STEP and b.makes != ""))


def _is_known(view: FunctionView) -> bool:
    """Whether it is certain what a function receives: what it lacks for a graph can be told at all."""
    return view.facts.tensor_parameter.value is not Ternary.UNKNOWN


def _may_be_graph(view: FunctionView, *, every: bool) -> bool:
    """Whether a function is hybrid, or receives or updates what it may be made so for, datasets included.

    Without `every` not where nobody knows that it receives a tensor, nor that it computes with TensorFlow: that is why
    it stays eager, and what else would keep it so is looked for in small programs only, and where comments may name it.
    """
    facts = view.facts
    if facts.mode is Mode.HYBRID or facts.tensor_parameter.value is Ternary.YES:
        return True
    if facts.tensor_parameter.value is Ternary.UNKNOWN:
        return every or facts.tensor_computation.value is Ternary.YES
    return facts.updates_variables.value is Ternary.YES or view.takes_data


def _distinct(found: list[Finding]) -> list[Finding]:
    """One finding for each place and rule: that of the nearest function for which it is more than information."""
    best: dict[tuple[str, str, int, int], Finding] = {}
    for each in sorted(found, key=lambda f: (f.severity is Severity.INFO, len(f.evidence))):
        best.setdefault((each.code, each.path, each.line, each.column), each)
    return sorted(best.values(), key=lambda f: (f.path, f.line, f.column, f.code))
