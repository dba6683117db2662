"""How the functions of this package are compiled, and the types of the arrays they take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
Ids = npt.NDArray[np.int32]
Places = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Number = int | np.signedinteger[Any]


def compiled(function: Function) -> Function:
    """The function as machine code: compiled at its first call, kept on disk, and run without the interpreter lock."""
    return cast(Function, njit(cache=True, nogil=True, error_model="numpy")(function))


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array, read-only from now on: arrays that compiled code only reads are of one type, from disk or not."""
    array = np.ascontiguousarray(array)
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array
