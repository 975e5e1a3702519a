"""What TensorFlow's Python side does to the world: files, settings of the process, logs, profiles."""

from __future__ import annotations

from hybridize.library.stubs import read

FUNCTIONS, CLASSES = read("outside", {})
