"""A hand-made report: a small trainer in which every kind of verdict occurs once."""

from __future__ import annotations

from typing import Any

from hybridize.decide.model import (
    Action,
    Assumption,
    Decision,
    FileError,
    Finding,
    FunctionReport,
    ProjectInfo,
    Report,
    Severity,
    Status,
)
from hybridize.facts.evidence import tells
from hybridize.facts.model import (
    Evidence,
    Fact,
    FunctionFacts,
    FunctionKind,
    Hybridization,
    Mode,
    ParameterFacts,
    Source,
    TensorType,
    Ternary,
    Told,
)

YES, NO, UNKNOWN = Fact(Ternary.YES), Fact(Ternary.NO), Fact(Ternary.UNKNOWN)
ROOT = "/project"

IMAGES = ParameterFacts(
    name="images",
    index=1,
    tensor=Ternary.YES,
    tensor_types=(TensorType("dense", "float32", (None, 28, 28)),),
    source=Source.DATAFLOW,
    evidence=(Evidence("`images` comes from the dataset", "main.py", 12),),
)
LABELS = ParameterFacts("labels", 2, Ternary.YES, (TensorType("ndarray", None, None),), (), Source.SPECULATION)
STEPS = ParameterFacts("steps", 1, Ternary.NO, (), ("3", "100"))


def facts(id: str, line: int, **changes: Any) -> FunctionFacts:
    """Facts of an eager, reached candidate with a tensor parameter and nothing against it."""
    module, _, qualname = id.partition(":")
    values: dict[str, Any] = {
        "id": id,
        "path": module.replace(".", "/") + ".py",
        "line": line,
        "column": 5 if "." in qualname else 1,
        "end_line": line + 9,
        "qualname": qualname,
        "kind": FunctionKind.METHOD if "." in qualname else FunctionKind.FUNCTION,
        "mode": Mode.EAGER,
        "hybridization": None,
        "candidate": True,
        "reached": True,
        "parameters": (ParameterFacts("self", 0, Ternary.NO), IMAGES, LABELS),
        "tensor_parameter": YES,
        "primitive_parameter": NO,
        "python_side_effects": NO,
        "recursive": NO,
        "tensor_computation": YES,
        "covered_by_hybrid_callers": NO,
    }
    return FunctionFacts(**(values | changes))


def status(code: str = "H102", name: str = "python-side-effects", **changes: Any) -> Status:
    """A status whose cause is two calls away."""
    values: dict[str, Any] = {
        "severity": Severity.ERROR,
        "message": "appends to `self.losses`",
        "path": "trainer.py",
        "line": 61,
        "column": 5,
        "evidence": (
            tells(Told.CALL, "trainer.py", 63, "log"),
            tells(Told.CALL, "trainer.py", 75, "record"),
            Evidence("appends to `self.losses`", "trainer.py", 88),
        ),
    }
    return Status(code, name, **(values | changes))


CONVERT = FunctionReport(facts("trainer:Trainer.step", 42), Decision(Action.CONVERT_TO_HYBRID, "P1", (), 3.25))
KEEP = FunctionReport(
    facts("trainer:Trainer.fit", 61, python_side_effects=Fact(Ternary.YES, status().evidence)),
    Decision(Action.KEEP),
    (status(),),
)
RECURSIVE = FunctionReport(
    facts("trainer:Trainer.walk", 61, mode=Mode.HYBRID),
    Decision(Action.KEEP),
    (
        status(
            "HY004",
            "recursive",
            severity=Severity.WARNING,
            message="hybrid and recursive: tracing may not end",
            is_of_function=True,
        ),
    ),
)
LEFT_OUT = FunctionReport(
    facts("trainer:Trainer.loss", 95),
    Decision(Action.KEEP, "P1"),
    (
        status(
            "H201",
            "covered",
            severity=Severity.INFO,
            message="all callers run as graphs",
            line=95,
            evidence=(Evidence("all callers run as graphs", "trainer.py", 95),),
        ),
    ),
)
DEHYBRIDIZE = FunctionReport(
    facts(
        "util.names:label",
        7,
        mode=Mode.HYBRID,
        hybridization=Hybridization(6, (("autograph", "True"),)),
        parameters=(STEPS,),
        tensor_parameter=NO,
        primitive_parameter=YES,
    ),
    Decision(Action.CONVERT_TO_EAGER, "P2"),
)
NO_CANDIDATE = FunctionReport(
    facts("util.names:helper", 30, candidate=False, parameters=(STEPS,), tensor_parameter=NO), Decision(Action.KEEP)
)
FINDING = Finding(
    code="TF301",
    name="leaked-tensor",
    severity=Severity.WARNING,
    message="a tensor of the trace leaves it",
    path="util/names.py",
    line=8,
    column=5,
    end_line=8,
    end_column=20,
    function="util.names:label",
    fix="unsafe",
)
SAMPLE = Report(
    project=ProjectInfo(ROOT, 3, 4200, 0.5),
    functions=(CONVERT, KEEP, LEFT_OUT, DEHYBRIDIZE, NO_CANDIDATE),
    findings=(FINDING,),
    assumptions=(Assumption("trainer:Trainer.step", "`labels` is a tensor because of its name", "trainer.py", 42),),
    errors=(FileError("broken.py", 3, "invalid syntax"),),
)
CLEAN = Report(ProjectInfo(ROOT, 1, 10, 0.01), (LEFT_OUT, NO_CANDIDATE))
