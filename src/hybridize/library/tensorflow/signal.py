"""Signal processing: Fourier transforms, windows, frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hybridize.domain.tensors import DYNAMIC, UNRESOLVED, Dim, Shape, blurred
from hybridize.library.operands import Args, Unsure, chosen, group, op, same
from hybridize.library.shapes import axis_of, like, replaced, unsized
from hybridize.library.spec import Spec, parametrized

_TO_COMPLEX: Final = {"float32": "complex64", "float64": "complex128"}
_TO_REAL: Final = {c: r for r, c in _TO_COMPLEX.items()}


def _mapped(table: dict[str, str]) -> Callable[[Args], str | None]:
    return lambda a: table.get(a.tensor(a.first).dtype or "")


def _half(dim: Dim) -> Dim:
    return dim // 2 + 1 if dim >= 0 else blurred(dim)


@parametrized
def _real(a: Args, count: int, back: bool) -> Shape:
    """The shape of a transform of real signals: the last dim is halved, or doubled on the way back."""
    shape = a.tensor("input_tensor").known
    lengths = a.dims("fft_length") if a.given("fft_length") else None
    inner = list(lengths or shape[len(shape) - count :])
    last = inner[-1]
    if back:
        inner[-1] = last if lengths else (2 * (last - 1) if last > 0 else blurred(last))
    else:
        inner[-1] = _half(last)
    return (*shape[: len(shape) - count], *inner)


def _frames(size: Dim, length: int, step: int, pad_end: bool) -> Dim:
    if size < 0:
        return blurred(size)
    return -(-size // step) if pad_end else max(0, 1 + (size - length) // step)


def _frame(a: Args) -> Shape:
    shape = a.tensor("signal").known
    at = axis_of(len(shape), a.integer("axis", default=-1))
    length, step = a.integer("frame_length"), a.integer("frame_step")
    return replaced(shape, at, _frames(shape[at], length, step, a.flag("pad_end")), length)


def _stft(a: Args) -> Shape:
    shape = a.tensor("signals").known
    length, step = a.integer("frame_length"), a.integer("frame_step")
    bins = a.integer("fft_length") if a.given("fft_length") else 1 << (length - 1).bit_length()
    return (*shape[:-1], _frames(shape[-1], length, step, a.flag("pad_end")), _half(bins))


def _overlap(a: Args) -> Shape:
    *outer, frames, length = a.tensor("signal").known
    step = a.integer("frame_step")
    return (*outer, (frames - 1) * step + length if frames > 0 and length >= 0 else unsized(frames, length))


def _inverse_stft(a: Args) -> Shape:
    *outer, frames, _ = a.tensor("stfts").known
    length, step = a.integer("frame_length"), a.integer("frame_step")
    return (*outer, (frames - 1) * step + length if frames > 0 else unsized(frames))


@parametrized
def _window(a: Args, name: str) -> Shape:
    found = a.dims(name)
    if len(found) != 1:
        raise Unsure
    return (max(found[0], UNRESOLVED),)


def _mel(a: Args) -> Shape:
    bins = a.integer("num_mel_bins", default=20)
    spectrum = a.integer("num_spectrogram_bins", default=129)
    return (spectrum, bins)


def _dct(a: Args) -> Shape:
    shape = a.tensor("input").known
    return (*shape[:-1], a.integer("n")) if a.given("n") else shape


def _mdct(a: Args) -> Shape:
    shape = a.tensor("signals").known
    length = a.integer("frame_length")
    return (*shape[:-1], _frames(shape[-1], length, length // 2, a.flag("pad_end")), length // 2)


def _inverse_mdct(a: Args) -> Shape:
    *outer, frames, half = a.tensor("mdcts").known
    return (*outer, (frames + 1) * half if min(frames, half) >= 0 else unsized(frames, half, DYNAMIC))


_COMPLEX: Final = "tf.signal.fft tf.signal.fft2d tf.signal.fft3d tf.signal.ifft tf.signal.ifft2d tf.signal.ifft3d"

FUNCTIONS: Final[dict[str, Spec]] = {
    **group(_COMPLEX, op(same("input"), like("input"))),
    "tf.signal.rfft": op(_mapped(_TO_COMPLEX), _real(1, False)),
    "tf.signal.rfft2d": op(_mapped(_TO_COMPLEX), _real(2, False)),
    "tf.signal.rfft3d": op(_mapped(_TO_COMPLEX), _real(3, False)),
    "tf.signal.irfft": op(_mapped(_TO_REAL), _real(1, True)),
    "tf.signal.irfft2d": op(_mapped(_TO_REAL), _real(2, True)),
    "tf.signal.irfft3d": op(_mapped(_TO_REAL), _real(3, True)),
    "tf.signal.frame": op(same("signal"), _frame),
    "tf.signal.stft": op(_mapped(_TO_COMPLEX), _stft),
    "tf.signal.inverse_stft": op(_mapped(_TO_REAL), _inverse_stft),
    "tf.signal.overlap_and_add": op(same("signal"), _overlap),
    **group(
        "tf.signal.hann_window tf.signal.hamming_window tf.signal.kaiser_window tf.signal.vorbis_window "
        "tf.signal.kaiser_bessel_derived_window",
        op(chosen("float32"), _window("window_length")),
    ),
    "tf.signal.linear_to_mel_weight_matrix": op(chosen("float32"), _mel),
    "tf.signal.mfccs_from_log_mel_spectrograms": op(same(), like()),
    **group("tf.signal.dct tf.signal.idct", op(same("input"), _dct)),
    "tf.signal.mdct": op(same("signals"), _mdct),
    "tf.signal.inverse_mdct": op(same("mdcts"), _inverse_mdct),
}
