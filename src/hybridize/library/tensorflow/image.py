"""Image operations: (batches of) images with their channels last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hybridize.domain.objects import Value
from hybridize.domain.tensors import DYNAMIC, UNRESOLVED, Dim, Shape, blurred
from hybridize.library.operands import Args, Impossible, Unsure, fixed, group, op, record, same, value_rule
from hybridize.library.shapes import like
from hybridize.library.spec import Spec
from hybridize.library.tensorflow.creation import count_of

_SAME: Final = """
    adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_saturation random_brightness random_contrast
    random_hue random_saturation stateless_random_brightness stateless_random_contrast stateless_random_hue
    stateless_random_saturation flip_left_right flip_up_down random_flip_left_right random_flip_up_down
    stateless_random_flip_left_right stateless_random_flip_up_down hsv_to_rgb rgb_to_hsv rgb_to_yiq rgb_to_yuv
    yiq_to_rgb yuv_to_rgb adjust_jpeg_quality random_jpeg_quality stateless_random_jpeg_quality
"""


def _channels(count: int) -> Callable[[Args], Shape]:
    return lambda a: (*a.tensor(a.first).known[:-1], count)


def sized(shape: tuple[Dim, ...], height: Dim, width: Dim) -> tuple[Dim, ...]:
    """An image or a batch of images with another height and width."""
    if len(shape) not in (3, 4):
        raise Impossible
    return (*shape[:-3], height, width, shape[-1])


def _resize(a: Args) -> Shape:
    shape = a.tensor("images").known
    size = a.dims("size")
    if a.given("preserve_aspect_ratio") and a.flag("preserve_aspect_ratio"):
        return sized(shape, UNRESOLVED, UNRESOLVED)
    return sized(shape, size[0], size[1])


def _resize_dtype(a: Args) -> str | None:
    method = a.constant("method", default="bilinear") if a.given("method") else "bilinear"
    if not isinstance(method, str):
        raise Unsure
    return a.tensor("images").dtype if method == "nearest" else "float32"


def _to_target(name: str) -> Callable[[Args], Shape]:
    return lambda a: sized(a.tensor(name).known, count_of(a, "target_height"), count_of(a, "target_width"))


def _padded_dtype(a: Args) -> str | None:
    method = a.constant("method", default="bilinear") if a.given("method") else "bilinear"
    return a.tensor("image").dtype if method == "nearest" else "float32"


def _central(a: Args) -> Shape:
    shape = a.tensor("image").known
    fraction = a.constant("central_fraction")
    if not isinstance(fraction, (float, int)):
        raise Unsure
    if fraction == 1.0:
        return shape

    def kept(size: Dim) -> Dim:
        if size < 0:
            return blurred(size)
        start = int((size - size * fraction) / 2)
        return size - 2 * start

    return sized(shape, kept(shape[-3]), kept(shape[-2]))


def _crop_and_resize(a: Args) -> Shape:
    size = a.dims("crop_size")
    return (a.tensor("boxes").known[0], size[0], size[1], a.tensor("image").known[-1])


def _rot90(a: Args) -> Shape:
    shape = a.tensor("image").known
    turns = a.integer("k", default=1)
    return shape if turns % 2 == 0 else sized(shape, shape[-2], shape[-3])


def _transposed(a: Args) -> Shape:
    shape = a.tensor("image").known
    return sized(shape, shape[-2], shape[-3])


def _converted(a: Args) -> str | None:
    return a.dtype("dtype")


def _gradients(a: Args) -> Value:
    x = a.tensor("image")
    made = a.result(x.dtype, x.known)
    return record("tuple", (), made, made)


def _per_image(drop: int) -> Callable[[Args], Shape]:
    return lambda a: a.tensor(a.first).known[:-drop]


def _glimpse(a: Args) -> Shape:
    size = a.dims("size")
    shape = a.tensor("input").known
    return (shape[0], size[0], size[1], shape[-1])


def _standardized(a: Args) -> str | None:
    dtype = a.tensor("image").dtype
    return dtype if dtype in ("float16", "float32") else "float32" if dtype else None


def _combined_boxes(a: Args) -> Value:
    """Boxes, scores and classes of a fixed number of detections, and how many of them count."""
    batch = a.tensor("boxes").known[0]
    size = a.integer("max_total_size")
    if a.flag("pad_per_class"):
        scores = a.tensor("scores").known
        if scores[-1] < 0:
            raise Unsure
        size = min(size, a.integer("max_output_size_per_class") * scores[-1])
    made = a.result("float32", (batch, size))
    names = ("nmsed_boxes", "nmsed_scores", "nmsed_classes", "valid_detections")
    boxes = a.result("float32", (batch, size, 4))
    return record("CombinedNonMaxSuppression", names, boxes, made, made, a.result("int32", (batch,)))


def _padded_boxes(a: Args) -> Value:
    if a.tensor("boxes").rank != 2:
        raise Unsure
    size = a.integer("max_output_size") if a.flag("pad_to_max_output_size") else DYNAMIC
    return record("tuple", (), a.result("int32", (size,)), a.result("int32", ()))


def _scored_boxes(a: Args) -> Value:
    return record("tuple", (), a.result("int32", (DYNAMIC,)), a.result("float32", (DYNAMIC,)))


def _distorted_box(a: Args) -> Value:
    dtype = a.tensor("image_size").dtype
    made = a.result(dtype, (3,))
    names = ("begin", "size", "bboxes")
    return record("SampleDistortedBoundingBoxV2", names, made, made, a.result("float32", (1, 1, 4)))


FUNCTIONS: Final[dict[str, Spec]] = {
    **group(_SAME, op(same(), like()), "tf.image."),
    "tf.image.per_image_standardization": op(_standardized, like()),
    "tf.image.grayscale_to_rgb": op(same(), _channels(3)),
    "tf.image.rgb_to_grayscale": op(same(), _channels(1)),
    "tf.image.resize": op(_resize_dtype, _resize),
    "tf.image.resize_with_crop_or_pad": op(same("image"), _to_target("image")),
    "tf.image.resize_with_pad": op(_padded_dtype, _to_target("image")),
    "tf.image.crop_to_bounding_box": op(same("image"), _to_target("image")),
    "tf.image.pad_to_bounding_box": op(same("image"), _to_target("image")),
    "tf.image.central_crop": op(same("image"), _central),
    "tf.image.crop_and_resize": op(fixed("float32"), _crop_and_resize),
    "tf.image.extract_glimpse": op(fixed("float32"), _glimpse),
    "tf.image.rot90": op(same("image"), _rot90),
    "tf.image.transpose": op(same("image"), _transposed),
    **group("tf.image.random_crop tf.image.stateless_random_crop", op(same("value"), lambda a: a.dims("size"))),
    "tf.image.convert_image_dtype": op(_converted, like("image")),
    "tf.image.image_gradients": Spec(value_rule(_gradients, "unknown"), op=True),
    "tf.image.sobel_edges": op(same("image"), lambda a: (*a.tensor("image").known, 2)),
    **group("tf.image.psnr tf.image.ssim tf.image.ssim_multiscale", op(fixed("float32"), _per_image(3))),
    "tf.image.total_variation": op(same("images"), lambda a: a.tensor("images").known[:-3]),
    "tf.image.draw_bounding_boxes": op(same("images"), like("images")),
    "tf.image.combined_non_max_suppression": Spec(value_rule(_combined_boxes, "unknown"), op=True),
    "tf.image.non_max_suppression_padded": Spec(value_rule(_padded_boxes, "unknown"), op=True),
    "tf.image.non_max_suppression_with_scores": Spec(value_rule(_scored_boxes, "unknown"), op=True),
    "tf.image.sample_distorted_bounding_box": Spec(value_rule(_distorted_box, "unknown"), op=True),
    "tf.image.non_max_suppression": op(fixed("int32"), lambda a: (DYNAMIC,)),
}
