"""Images, sound and figures: PIL, OpenCV, imageio, scikit-image, matplotlib, seaborn, librosa, nibabel."""

from __future__ import annotations

from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import FLOAT_V, INT_V, NONE_V, STR_V, Value, prim, stream, tensor, tup
from hybridize.domain.tensors import NDARRAY, UNRESOLVED
from hybridize.library.python.rules import (
    ARRAY_V,
    array,
    call_back,
    change,
    give,
    instance,
    integer,
    iterator_of,
    itself,
    listed,
    methods,
    nothing,
    number,
    opaque,
    properties,
    same,
    table,
    text,
    text_dict,
    truth,
)
from hybridize.library.spec import Call, ClassSpec, Spec

_BOOL: Final = prim("bool").value
_COLOR_IMAGE: Final = tensor(NDARRAY, "uint8", (UNRESOLVED, UNRESOLVED, 3)).value
_GRAY_IMAGE: Final = tensor(NDARRAY, "uint8", (UNRESOLVED, UNRESOLVED)).value
_PAIR: Final = tup([INT_V, INT_V]).value
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


_CV_ARRAYS: Final = (
    "resize cvtColor GaussianBlur medianBlur blur bilateralFilter filter2D Canny Sobel Laplacian erode dilate "
    "morphologyEx "
    "warpAffine warpPerspective getRotationMatrix2D getPerspectiveTransform getAffineTransform flip rotate transpose "
    "copyMakeBorder addWeighted bitwise_and bitwise_or bitwise_not bitwise_xor add subtract multiply absdiff "
    "equalizeHist "
    "applyColorMap imdecode inRange adaptiveThreshold remap normalize convertScaleAbs merge LUT boxPoints "
    "pyrDown pyrUp "
    "getStructuringElement distanceTransform hconcat vconcat calcHist Rodrigues undistort dct idct matchTemplate "
    "calcOpticalFlowFarneback getGaussianKernel invert"
)
_CV_DRAWS: Final = (
    "line rectangle circle ellipse putText polylines fillPoly drawContours arrowedLine fillConvexPoly drawMarker"
)
_CV_WINDOWS: Final = (
    "imshow namedWindow destroyAllWindows destroyWindow moveWindow resizeWindow createTrackbar setWindowProperty"
)
_PIL_SAME: Final = (
    "resize convert crop rotate transpose copy filter quantize transform reduce effect_spread "
    "getchannel thumbnail_ remap_palette"
)
_SK_ARRAYS: Final = {
    "skimage.transform": "resize rescale rotate warp downscale_local_mean iradon radon swirl",
    "skimage.color": "rgb2gray gray2rgb rgb2lab lab2rgb rgb2hsv hsv2rgb label2rgb rgba2rgb rgb2ycbcr rgb2yuv",
    "skimage.filters": "gaussian sobel threshold_local median unsharp_mask laplace prewitt scharr",
    "skimage.exposure": "equalize_hist equalize_adapthist rescale_intensity adjust_gamma match_histograms adjust_log",
    "skimage.util": "random_noise img_as_float img_as_ubyte view_as_windows view_as_blocks montage crop invert",
    "skimage.morphology": "dilation erosion opening closing remove_small_objects binary_dilation binary_erosion "
    "skeletonize "
    "disk square label ball",
    "skimage.measure": "label block_reduce find_contours approximate_polygon",
    "skimage.segmentation": "slic felzenszwalb mark_boundaries find_boundaries watershed clear_border",
    "skimage.feature": "hog local_binary_pattern canny corner_harris peak_local_max",
    "skimage": "img_as_float img_as_float32 img_as_ubyte img_as_uint img_as_bool",
}
_PLOTS: Final = (
    "plot scatter bar barh hist hist2d imshow pcolormesh contour contourf errorbar fill_between quiver boxplot "
    "pie stem step "
    "axhline axvline axvspan axhspan hlines vlines semilogx semilogy loglog matshow violinplot streamplot "
    "stackplot text "
    "annotate legend title suptitle xlabel ylabel zlabel xlim ylim xticks yticks axis grid tight_layout "
    "subplots_adjust "
    "colorbar clim set_cmap gray jet hot viridis figtext cla clf close draw pause ion ioff show subplot2grid "
    "margins sca sci "
    "tick_params rc rcdefaults switch_backend box twinx twiny gca_ minorticks_on table arrow fill autoscale "
    "clabel eventplot"
)
_SETTERS: Final = (
    "set_title set_xlabel set_ylabel set_zlabel set_xlim set_ylim set_zlim set_xticks set_yticks set_xticklabels "
    "set_yticklabels set_aspect set_axis_off set_axis_on set_visible set_facecolor set_xscale set_yscale "
    "set_data set_array "
    "set_position set_size_inches set_dpi set_clim set_color set_linewidth add_patch add_artist add_line "
    "add_collection "
    "invert_yaxis invert_xaxis relim autoscale_view set plot_surface plot_wireframe plot_trisurf view_init "
    "remove canvas "
    "set_text set_offsets set_ydata set_xdata set_label set_major_locator set_major_formatter set_ticks set_ticklabels"
)
_FIGURE: Final = ClassSpec(
    methods={
        **methods(_PLOTS, opaque, "state"),
        **methods(_SETTERS, opaque, "state"),
        **methods("add_subplot add_axes gca subplot twinx twiny", instance("matplotlib.axes.Axes"), "state"),
        "subplots": Spec(_axes, effects=("state",)),
        **methods("savefig save to_html5_video to_jshtml", nothing, "io"),
        **methods("get_figure", instance("matplotlib.figure.Figure")),
        **methods(
            "get_legend_handles_labels get_xlim get_ylim get_position get_size_inches get_xticks get_yticks get_title",
            opaque,
        ),
        **methods("flatten ravel", lambda call: call.list_of(instance("matplotlib.axes.Axes")(call))),
        "__getitem__": Spec(itself),
    },
    properties={
        **properties("xaxis yaxis spines patch transAxes transData figure axes", opaque),
        "canvas": instance("matplotlib.backends.FigureCanvas"),
    },
)
_AUDIO: Final = (
    "stft istft feature.melspectrogram feature.mfcc feature.chroma_stft feature.spectral_centroid feature.delta "
    "feature.rms "
    "feature.zero_crossing_rate power_to_db amplitude_to_db db_to_power db_to_amplitude resample "
    "util.fix_length util.normalize "
    "filters.mel effects.time_stretch effects.pitch_shift to_mono core.stft core.istft mel_frequencies "
    "fft_frequencies cqt "
    "griffinlim effects.preemphasis util.frame feature.inverse.mel_to_audio hz_to_mel frames_to_time"
)
_MODULES: Final = ("matplotlib.pyplot", "pylab", "matplotlib.pylab")

FUNCTIONS: Final[dict[str, Spec]] = {
    # PIL
    "PIL.Image.open": Spec(_image, effects=("io",)),
    **table("PIL.Image", "new fromarray frombytes frombuffer merge blend composite alpha_composite", _image),
    "PIL.Image.register_open": Spec(nothing, effects=("state",)),
    **table(
        "PIL.ImageOps",
        "fit pad grayscale invert mirror flip autocontrast equalize expand solarize posterize crop scale "
        "exif_transpose contain colorize",
        _image,
    ),
    "PIL.ImageDraw.Draw": Spec(instance("PIL.ImageDraw.ImageDraw")),
    **table("PIL.ImageFont", "truetype load_default", opaque, "io"),
    **table("PIL.ImageEnhance", "Brightness Contrast Color Sharpness", instance("PIL.ImageEnhance._Enhance")),
    **table("PIL.ImageChops", "difference add subtract multiply invert", _image),
    **table("PIL.ImageFilter", "GaussianBlur BoxBlur MedianFilter UnsharpMask Kernel", opaque),
    "PIL.ImageGrab.grab": Spec(_image, effects=("io",)),
    # OpenCV
    "cv2.imread": Spec(_read_image, effects=("io",)),
    "cv2.imwrite": Spec(truth, effects=("io",)),
    "cv2.imencode": Spec(give(tup([_BOOL, ARRAY_V]).value)),
    **table("cv2", _CV_ARRAYS, array),
    **table("cv2", _CV_DRAWS, _drawn),
    **table("cv2", _CV_WINDOWS, nothing, "io"),
    **table("cv2", "waitKey", integer, "io"),
    "cv2.setMouseCallback": Spec(_mouse, effects=("io",)),
    **table("cv2", "threshold", give(tup([FLOAT_V, ARRAY_V]).value)),
    "cv2.split": Spec(lambda call: call.list_of(ARRAY_V)),
    "cv2.findContours": Spec(lambda call: tup([call.list_of(ARRAY_V), ARRAY_V]).value),
    **table("cv2", "boundingRect", give(tup([INT_V] * 4).value)),
    **table("cv2", "getTextSize", give(tup([_PAIR, INT_V]).value)),
    **table("cv2", "contourArea arcLength PSNR norm", number),
    **table(
        "cv2",
        "minAreaRect connectedComponentsWithStats connectedComponents moments approxPolyDP convexHull solvePnP "
        "findHomography meanStdDev minMaxLoc kmeans goodFeaturesToTrack calcOpticalFlowPyrLK",
        opaque,
    ),
    **table("cv2", "setNumThreads setUseOptimized ocl.setUseOpenCL", nothing, "state"),
    "cv2.VideoWriter_fourcc": Spec(integer),
    # reading and writing
    **table("imageio", "imread v2.imread v3.imread volread", array, "io"),
    **table("imageio", "imwrite imsave mimsave mimwrite v2.imwrite v3.imwrite v2.mimsave", nothing, "io"),
    **table("imageio", "mimread", listed(ARRAY_V), "io"),
    **table("imageio", "get_writer get_reader v2.get_writer", instance("imageio.Writer"), "io"),
    **table("skimage.io", "imread imread_collection", array, "io"),
    **table("skimage.io", "imsave imshow show", nothing, "io"),
    **{f"{m}.{n}": Spec(array) for m, names in _SK_ARRAYS.items() for n in names.split()},
    "skimage.util.random_noise": Spec(array, effects=("random",)),
    **table("skimage.metrics", "peak_signal_noise_ratio structural_similarity mean_squared_error", number),
    **table("skimage.measure", "compare_ssim compare_psnr compare_mse shannon_entropy", number),
    **table("skimage.measure", "regionprops marching_cubes", opaque),
    **table("skimage.filters", "threshold_otsu threshold_yen", number),
    **table("skimage.data", "astronaut camera coffee chelsea", array),
    **table("skimage.draw", "polygon disk line circle ellipse rectangle", give(tup([ARRAY_V, ARRAY_V]).value)),
    **table("nibabel", "load", instance("nibabel.Image"), "io"),
    **table("nibabel", "as_closest_canonical squeeze_image", same),
    "nibabel.save": Spec(nothing, effects=("io",)),
    "librosa.load": Spec(give(tup([ARRAY_V, INT_V]).value), effects=("io",)),
    **table("librosa", _AUDIO, array),
    "librosa.get_duration": Spec(number),
    **table("librosa.display", "specshow waveplot waveshow", opaque, "state"),
    "librosa.effects.trim": Spec(give(tup([ARRAY_V, ARRAY_V]).value)),
    "soundfile.read": Spec(give(tup([ARRAY_V, INT_V]).value), effects=("io",)),
    "soundfile.write": Spec(nothing, effects=("io",)),
    "pydicom.dcmread": Spec(opaque, effects=("io",)),
    # figures: the current figure is a state of the library
    **{f"{m}.{n}": Spec(opaque, effects=("state",)) for m in _MODULES for n in _PLOTS.split()},
    **{
        f"{m}.{n}": Spec(instance("matplotlib.figure.Figure"), effects=("state",))
        for m in _MODULES
        for n in ("figure", "gcf")
    },
    **{
        f"{m}.{n}": Spec(instance("matplotlib.axes.Axes"), effects=("state",))
        for m in _MODULES
        for n in ("subplot", "axes", "gca")
    },
    **{f"{m}.subplots": Spec(_axes, effects=("state",)) for m in _MODULES},
    **{f"{m}.{n}": Spec(nothing, effects=("io",)) for m in _MODULES for n in ("savefig", "imsave")},
    **{f"{m}.imread": Spec(array, effects=("io",)) for m in _MODULES},
    **{f"{m}.get_cmap": Spec(opaque) for m in (*_MODULES, "matplotlib.cm")},
    **{f"{m}.style.use": Spec(nothing, effects=("state",)) for m in (*_MODULES, "matplotlib")},
    **table("matplotlib.pyplot.rcParams", "update", nothing, "state"),
    **table("matplotlib.pyplot.cm", "jet viridis hot gray get_cmap Blues rainbow", opaque),
    **table("matplotlib.cm", "jet viridis hot gray Blues rainbow", opaque),
    "matplotlib.image.imread": Spec(array, effects=("io",)),
    "matplotlib.image.imsave": Spec(nothing, effects=("io",)),
    **table("matplotlib", "use rc rcdefaults interactive rcParams.update", nothing, "state"),
    **table("matplotlib.animation", "FuncAnimation ArtistAnimation", _animation, "state"),
    **table(
        "seaborn",
        "heatmap lineplot scatterplot barplot countplot boxplot distplot histplot kdeplot pairplot regplot "
        "violinplot set set_style set_theme set_context set_palette jointplot catplot FacetGrid despine clustermap",
        opaque,
        "state",
    ),
    "seaborn.color_palette": Spec(opaque),
    "seaborn.load_dataset": Spec(instance("pandas.DataFrame"), effects=("io",)),
    **table("visdom", "Visdom", opaque, "io"),
}
CLASSES: Final[dict[str, ClassSpec]] = {
    "PIL.Image.Image": ClassSpec(
        methods={
            **methods(_PIL_SAME, _image),
            "split": Spec(lambda call: stream("tuple", _image(call)).value),
            "point": Spec(_point),
            **methods(
                "thumbnail paste putalpha putpalette putdata alpha_composite seek load putpixel", nothing, "mutate"
            ),
            **methods("save show", nothing, "io"),
            "close": Spec(nothing, effects=("io",)),
            **methods("getpixel getcolors getexif getextrema", opaque),
            "getbbox": Spec(give(join(tup([INT_V] * 4).value, NONE_V))),
            "getdata": Spec(lambda call: iterator_of(call, join(INT_V, stream("tuple", INT_V).value))),
            "getbands": Spec(give(stream("tuple", STR_V).value)),
            "histogram": Spec(listed(INT_V)),
            "tobytes": Spec(give(prim("bytes").value)),
            "verify": Spec(nothing),
            "__enter__": Spec(itself),
            "__array__": Spec(array),
        },
        properties={
            "size": give(_PAIR),
            **properties("width height", integer),
            **properties("mode format filename", text),
            "info": text_dict,
        },
    ),
    "PIL.ImageDraw.ImageDraw": ClassSpec(
        methods={
            **methods(
                "text line rectangle ellipse polygon point arc chord multiline_text rounded_rectangle bitmap",
                nothing,
                "mutate",
            ),
            **methods("textsize textbbox textlength multiline_textsize", opaque),
        }
    ),
    "PIL.ImageEnhance._Enhance": ClassSpec(methods={"enhance": Spec(_image)}),
    "cv2.VideoCapture": ClassSpec(
        methods={
            "read": Spec(give(tup([_BOOL, ARRAY_V]).value), effects=("io",)),
            "isOpened": Spec(truth),
            **methods("release set open grab", truth, "io"),
            "get": Spec(number),
        },
        effects=("io",),
    ),
    "cv2.VideoWriter": ClassSpec(methods=methods("write release open isOpened", truth, "io"), effects=("io",)),
    "cv2.CascadeClassifier": ClassSpec(methods={"detectMultiScale": Spec(array), "load": Spec(truth, effects=("io",))}),
    "imageio.Writer": ClassSpec(
        methods={
            **methods("append_data close", nothing, "io"),
            "__enter__": Spec(itself),
            "get_data": Spec(array, effects=("io",)),
            "__iter__": Spec(array),
        }
    ),
    "nibabel.Image": ClassSpec(
        methods={**methods("get_fdata get_data", array, "io"), **methods("to_filename", nothing, "io")},
        properties={"affine": array, "dataobj": array, "header": opaque, "shape": give(stream("tuple", INT_V).value)},
    ),
    "nibabel.Nifti1Image": ClassSpec(bases=("nibabel.Image",)),
    "matplotlib.figure.Figure": _FIGURE,
    "matplotlib.axes.Axes": _FIGURE,
    "matplotlib.animation.FuncAnimation": ClassSpec(methods=methods("save to_html5_video to_jshtml", text, "io")),
    "matplotlib.backends.FigureCanvas": ClassSpec(
        methods={
            **methods("draw flush_events", nothing, "state"),
            **methods("tostring_rgb buffer_rgba", array),
            "get_width_height": Spec(give(_PAIR)),
            "mpl_connect": Spec(integer, effects=("state",)),
            "print_png": Spec(nothing, effects=("io",)),
        }
    ),
    "matplotlib.backends.backend_agg.FigureCanvasAgg": ClassSpec(bases=("matplotlib.backends.FigureCanvas",)),
    **{
        f"matplotlib.patches.{n}": ClassSpec()
        for n in ("Rectangle", "Circle", "Ellipse", "Polygon", "Patch", "FancyArrowPatch")
    },
    **{f"matplotlib.gridspec.{n}": ClassSpec() for n in ("GridSpec", "GridSpecFromSubplotSpec")},
    **{
        f"matplotlib.colors.{n}": ClassSpec()
        for n in ("ListedColormap", "Normalize", "LogNorm", "LinearSegmentedColormap")
    },
}
