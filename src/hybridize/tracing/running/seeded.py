"""Where random operations draw by the global seed alone, and in which programs that is set."""

from __future__ import annotations

from typing import Final

from hybridize.closure import closure
from hybridize.domain.objects import Lit
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.source import is_test_path
from hybridize.tracing.views import FrameView, ProjectView

#: The stateful random operations, and where each takes its own seed if that comes without a name.
DRAWS: Final = {
    **dict.fromkeys((f"tf.random.{n}" for n in "normal uniform truncated_normal gamma".split()), 4),
    **dict.fromkeys((f"tf.random.{n}" for n in "poisson categorical".split()), 3),
    "tf.random.shuffle": 1,
    **{f"tf.random.{n}_candidate_sampler": 5 for n in ("uniform", "log_uniform", "learned_unigram")},
    "tf.random.fixed_unigram_candidate_sampler": 11,
    "tf.nn.dropout": 3,
    "tf.compat.v1.nn.dropout": 3,
    "tf.nn.experimental.general_dropout": 4,
    "tf.nn.fractional_max_pool": 4,
    "tf.nn.fractional_avg_pool": 4,
    "tf.nn.sampled_softmax_loss": 9,
    **dict.fromkeys((f"tf.image.random_{n}" for n in ("flip_left_right", "flip_up_down")), 1),
    **dict.fromkeys((f"tf.image.random_{n}" for n in ("brightness", "hue", "crop")), 2),
    **dict.fromkeys((f"tf.image.random_{n}" for n in ("contrast", "saturation", "jpeg_quality")), 3),
    "tf.image.sample_distorted_bounding_box": 2,
}
#: With these given nothing is drawn, or by the seed.
_SETTLING: Final = frozenset({"seed", "seed2", "sampled_values"})
#: What sets it.
SEEDS: Final = frozenset({"tf.random.set_seed", "keras.utils.set_random_seed", "tf.compat.v1.random.set_random_seed"})


def draws(view: FrameView, instr: ir.Call) -> str | None:
    """The operation that draws in a call by the global seed alone; None without one."""
    name = next((n for n in view.names(instr.function) if n in DRAWS), None)
    if name is None or _has_seed(view, instr, DRAWS[name]) or _draws_nothing(view, instr, name):
        return None
    return name


def _has_seed(view: FrameView, call: ir.Call, place: int) -> bool:
    """Whether a call may give a seed for the operation itself, with its name or at its place."""
    if any(starred for _, starred in call.arguments):
        return True  # whether one is among them is not told
    given = [slot for key, slot in call.keywords if key in _SETTLING or key in ("**", None)]
    given += [slot for slot, _ in call.arguments[place : place + 1]]
    return any(not _is_none(view, slot) for slot in given)


def _draws_nothing(view: FrameView, call: ir.Call, name: str) -> bool:
    """Whether a dropout may have rate 0: it gives what it gets."""
    if not name.endswith("dropout"):
        return False
    rates = [view.value(slot) for key, slot in call.keywords if key in ("rate", "keep_prob")]
    rates += [view.value(slot) for slot, _ in call.arguments[1:2]]
    return any(isinstance(o, Lit) and o.const in (0, None) for rate in rates for o in rate)


def _is_none(view: FrameView, slot: int) -> bool:
    value = view.value(slot)
    return bool(value) and all(isinstance(o, Lit) and o.const is None for o in value)


def is_seeded(view: FrameView) -> bool:
    """Whether the global seed is set where the draw happens: in the same file, or by a program that gets there."""
    files = view.project.shared("global seed", lambda: _seeds(view.project))
    if view.code.path in files:
        return True
    return bool(files) and view.frame in view.project.shared("seeded frames", lambda: _led_to(view.project, files))


def _led_to(project: ProjectView, files: frozenset[str]) -> set[Frame]:
    """The frames that the own code of some files leads to."""
    frames = [frame for found in project.solution.frames.values() for frame in found]
    callees: dict[Frame, list[Frame]] = {}
    for frame in frames:
        for caller in frame.callers:
            callees.setdefault(caller, []).append(frame)
    starts = [frame for frame in frames if not frame.callers and frame.code.path in files]
    return set(closure(starts, lambda each: callees.get(each, ())))


def _seeds(project: ProjectView) -> frozenset[str]:
    """The files that set the seed, and those that import them, by others, too: a program that begins there has it."""
    frames = [frame for found in project.solution.frames.values() for frame in found]
    seeding = _programs([f for f in frames if _sets_seed(f)])
    importers = _importers(project) if seeding else {}
    return frozenset(closure(seeding, lambda path: () if is_test_path(path) else importers.get(_stem(path), ())))


def _sets_seed(frame: Frame) -> bool:
    for effect in frame.effects.values():
        if effect.detail in SEEDS and effect.kind in ("random", "state"):
            return True
    return False


def _programs(frames: list[Frame]) -> set[str]:
    """The files whose own code leads to some frames; that of a frame that nothing calls is its own."""
    return {frame.code.path for frame in closure(frames, lambda each: each.callers) if not frame.callers}


def _importers(project: ProjectView) -> dict[str, set[str]]:
    """The files that import something, by the last parts of the names that they import."""
    found: dict[str, set[str]] = {}
    for code in project.solution.frames:
        index = index_of(code)
        names = {instr.name.rpartition(".")[2] for instr in index.of(ir.Import)}
        for instr in index.of(ir.ImportFrom):
            names |= {str(instr.module or "").rpartition(".")[2], str(instr.name)}
        names.update(str(instr.module or "").rpartition(".")[2] for instr in index.of(ir.ImportStar))
        for name in names:
            found.setdefault(name, set()).add(code.path)
    return found


def _stem(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return folder.rpartition("/")[2] if name == "__init__.py" else name.partition(".")[0]
