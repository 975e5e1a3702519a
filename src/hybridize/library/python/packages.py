"""Which module of this room models which package: a project loads the models of what it imports, and no others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_HERE: Final = "hybridize.library.python."
#: By module, the packages (first parts of dotted names) that it models; some are modelled in several.
_PACKAGES: Final[Mapping[str, str]] = {
    "numbers": "cmath decimal fractions math numbers operator random secrets statistics",
    "iteration": "bisect functools heapq itertools",
    "collections_models": "array collections typing",
    "definitions": "abc attr attrs contextlib copy dataclasses enum inspect types typing typing_extensions weakref",
    "text": (
        "Levenshtein ast base64 binascii difflib editdistance gettext hashlib hmac html humanize inflection "
        "jieba keyword locale nltk pprint re regex sentencepiece shlex string struct tabulate termcolor "
        "textwrap unicodedata urllib uuid zlib"
    ),
    "io_models": (
        "bz2 cPickle cloudpickle codecs commentjson csv dill fileinput fnmatch gdown glob gzip "
        "h5py importlib io joblib json linecache lzma marshal mmap msgpack os pathlib pickle pkg_resources "
        "pkgutil requests shelve shutil simplejson smart_open tarfile tempfile tokenize toml tomli tomllib "
        "ujson urllib yaml zipfile"
    ),
    "configurations": "configparser",
    "system": (
        "argparse atexit cProfile calendar ctypes datetime faulthandler gc getpass importlib logging optparse "
        "packaging pdb pkg_resources platform pstats resource signal socket sqlite3 subprocess sys time timeit "
        "traceback tracemalloc warnings"
    ),
    "concurrency": "asyncio concurrent contextvars joblib multiprocess multiprocessing queue sched threading torch",
    "testing": "absl hypothesis mock nose parameterized pytest unittest",
    "apps": (
        "GPUtil IPython absl addict alive_progress beartype check_shapes clearml click cloudpickle colorama "
        "comet_ml cython decorator deprecated deprecation distutils dotenv easydict fire gflags gin google "
        "horovod hydra jaxtyping keras_tqdm line_profiler memory_profiler ml_collections mlflow "
        "more_itertools munch neptune numba omegaconf past prettytable progressbar psutil "
        "pydantic pynvml ray retrying rich setproctitle setuptools six tabulate tenacity tensorboardX tqdm "
        "tree typeguard typer wandb wrapt yacs"
    ),
    "dispatching": "multipledispatch",
    "data_models": "datasets pandas polars pyarrow",
    "science": "pyDOE pyDOE2 scipy sklearn",
    "images": "PIL cv2 imageio librosa matplotlib nibabel pydicom pylab seaborn skimage soundfile visdom",
    "probability": "gpflow tensorflow_addons tensorflow_probability tf_agents",
    "messages": "colorsys google pycocotools tflite_runtime",
    "torch_models": "torch",
    "neighbours": "gym gymnasium tensorflow_datasets tensorflow_hub torch",
}


def _by_package() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for module, packages in _PACKAGES.items():
        for package in packages.split():
            found[package] = (*found.get(package, ()), _HERE + module)
    return found


#: By package, the modules with its models.
MODULES: Final[Mapping[str, tuple[str, ...]]] = _by_package()
