"""Images, sound and figures: PIL, OpenCV, imageio, scikit-image, matplotlib, seaborn, librosa, nibabel."""

from __future__ import annotations

from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import INT_V, NONE_V, Value, prim, stream, tensor, tup
from hybridize.domain.tensors import NDARRAY, UNRESOLVED
from hybridize.library.python.rules import ARRAY_V, call_back, change, instance, iterator_of
from hybridize.library.spec import Call, Rule, Spec
from hybridize.library.stubs import read

_COLOR_IMAGE: Final = tensor(NDARRAY, "uint8", (UNRESOLVED, UNRESOLVED, 3)).value
_GRAY_IMAGE: Final = tensor(NDARRAY, "uint8", (UNRESOLVED, UNRESOLVED)).value
_image: Final = instance("PIL.Image.Image")


def _read_image(call: Call) -> Value:
    """`cv2.imread(path, mode)`: a colour image of bytes unless a mode says otherwise; None if there is no file."""
    mode = call.constant(1, "flags", 1 if not call.given(1, "flags") else None)
    return join(_COLOR_IMAGE if mode == 1 else _GRAY_IMAGE if mode == 0 else ARRAY_V, NONE_V)


def _drawn(call: Call) -> Value:
    """`cv2.line(img, ...)` draws on its argument and gives it back."""
    change(call, call.arg(0, "img"))
    return call.arg(0, "img") or ARRAY_V


def _point(call: Call) -> Value:
    call_back(call, call.arg(0), INT_V)
    return _image(call)


def _mouse(call: Call) -> Value:
    call_back(call, call.arg(1), INT_V, INT_V, INT_V, INT_V, NONE_V)
    return NONE_V


def _axes(call: Call) -> Value:
    """`plt.subplots()`: a figure, and axes or an array of them."""
    figure, axes = instance("matplotlib.figure.Figure")(call), instance("matplotlib.axes.Axes")(call)
    single = len(call.args) == 0 and "nrows" not in call.kwargs and "ncols" not in call.kwargs and not call.rest
    return tup([figure, axes if single else join(axes, call.list_of(axes, "list", "axes"))]).value


def _animation(call: Call) -> Value:
    call_back(call, call.arg(1, "func"), prim("int", True).value)
    return instance("matplotlib.animation.FuncAnimation")(call)


_RULES: Final[dict[str, Rule]] = {
    "_axes_list": lambda call: call.list_of(instance("matplotlib.axes.Axes")(call)),
    "_split": lambda call: stream("tuple", _image(call)).value,
    "_getdata": lambda call: iterator_of(call, join(INT_V, stream("tuple", INT_V).value)),
}

_FUNCTIONS, CLASSES = read("images", globals() | _RULES)
FUNCTIONS: Final[dict[str, Spec]] = {
    **_FUNCTIONS,
    "cv2.split": Spec(lambda call: call.list_of(ARRAY_V)),
    "cv2.findContours": Spec(lambda call: tup([call.list_of(ARRAY_V), ARRAY_V]).value),
}
