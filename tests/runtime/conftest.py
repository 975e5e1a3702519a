"""The fork servers of the interpreters that the tests may use.

`HYBRIDIZE_TENSORFLOW` lists interpreters that have TensorFlow, separated as in `PATH`; without it, this one.
"""

import importlib.util
import os
import sys
from collections.abc import Iterator

import pytest

from hybridize.runtime import ForkServer

PYTHONS = [p for p in os.environ.get("HYBRIDIZE_TENSORFLOW", "").split(os.pathsep) if p]
if not PYTHONS and importlib.util.find_spec("tensorflow"):
    PYTHONS = [sys.executable]


@pytest.fixture(
    scope="session", params=PYTHONS or [None], ids=lambda p: "none" if p is None else f"python{hash(p) % 97}"
)
def server(request: pytest.FixtureRequest) -> Iterator[ForkServer]:
    if request.param is None:
        pytest.skip("no TensorFlow (HYBRIDIZE_TENSORFLOW names interpreters that have it)")
    with ForkServer(request.param) as running:
        yield running
