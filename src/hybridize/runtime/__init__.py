"""The only room that executes user code: a program is run eagerly and as graphs, apart from each other, and compared.

TensorFlow is imported in the children alone (`inside`), never here.
"""

from hybridize.runtime.decorate import TargetError, add_decorator, decorated
from hybridize.runtime.model import Difference, Kind, Outcome, Program, Traces
from hybridize.runtime.server import ForkServer, RuntimeUnavailable, prove

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
    "prove",
]
