"""Library names that are plain values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from hybridize.domain.objects import NONE_V, Value, literal, prim, stream
from hybridize.library.python.constants import CONSTANTS as _PYTHON

CONSTANTS: Final[Mapping[str, Value]] = {
    **_PYTHON,
    "np.pi": literal(math.pi).value,
    "np.e": literal(math.e).value,
    "np.inf": literal(math.inf).value,
    "np.nan": literal(math.nan).value,
    "np.newaxis": NONE_V,
    "tf.newaxis": NONE_V,
    "math.pi": literal(math.pi).value,
    "math.e": literal(math.e).value,
    "math.inf": literal(math.inf).value,
    "math.nan": literal(math.nan).value,
    "math.tau": literal(math.tau).value,
    "os.sep": prim("str").value,
    "os.linesep": prim("str").value,
    "sys.argv": stream("builtins.module_list", prim("str").value).value,
    "sys.path": stream("builtins.module_list", prim("str").value).value,
    "sys.maxsize": prim("int").value,
    "sys.platform": prim("str").value,
    "sys.version_info": stream("tuple", prim("int").value).value,
    "tf.__version__": prim("str").value,
    "keras.__version__": prim("str").value,
    "np.__version__": prim("str").value,
    "string.ascii_letters": prim("str").value,
    "string.punctuation": prim("str").value,
    "string.digits": prim("str").value,
    "typing.TYPE_CHECKING": literal(False).value,
}
