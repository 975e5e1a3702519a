"""One profile for all property tests, and the fork servers of the interpreters that the tests may use.

`HYBRIDIZE_TENSORFLOW` lists interpreters that have TensorFlow, separated as in `PATH`; without it, this one.
"""

import importlib.util
import os
import sys
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from harness import ForkServer

# What runs keep is none of the user's: here, and in the processes that tests start.
# Each command that a test starts would compile the whole package for itself.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="hybridize-tests-")

# A machine that is busy with other things is no failure.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

PYTHONS = [p for p in os.environ.get("HYBRIDIZE_TENSORFLOW", "").split(os.pathsep) if p]
if not PYTHONS and importlib.util.find_spec("tensorflow"):
    PYTHONS = [sys.executable]


@pytest.fixture(scope="session", params=PYTHONS or [None], ids=[f"python{i}" for i in range(len(PYTHONS))] or ["none"])
def server(request: pytest.FixtureRequest) -> Iterator[ForkServer]:
    if request.param is None:
        pytest.skip("no TensorFlow (HYBRIDIZE_TENSORFLOW names interpreters that have it)")
    with ForkServer(request.param) as running:
        yield running


@pytest.fixture(scope="session", params=PYTHONS or [None], ids=[f"python{i}" for i in range(len(PYTHONS))] or ["none"])
def tensorflow_python(request: pytest.FixtureRequest) -> str:
    """An interpreter that has TensorFlow."""
    if request.param is None:
        pytest.skip("no TensorFlow (HYBRIDIZE_TENSORFLOW names interpreters that have it)")
    return str(request.param)
