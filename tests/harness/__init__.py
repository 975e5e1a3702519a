"""Programs run eagerly and as graphs, apart from each other, and are compared: tests hold the analysis against it.

A fork server (`main`, in an interpreter that has TensorFlow) imports TensorFlow once and forks a child for each run;
values are described and compared by the code that `hybridize verify` has (`runtime.guest`).
"""

from harness.decorate import TargetError, add_decorator, decorated, lexical_path
from harness.model import Difference, Kind, Outcome, Program, Traces
from harness.server import ForkServer, RuntimeUnavailable, prove

__all__ = [
    "Difference",
    "ForkServer",
    "Kind",
    "Outcome",
    "Program",
    "RuntimeUnavailable",
    "TargetError",
    "Traces",
    "add_decorator",
    "decorated",
    "lexical_path",
    "prove",
]
