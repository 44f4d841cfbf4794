"""Names for arrays, said once: what they hold stands in the name, their shape in comments."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Int8Array = NDArray[np.int8]
Int16Array = NDArray[np.int16]
Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]
UInt8Array = NDArray[np.uint8]
UInt16Array = NDArray[np.uint16]
UInt32Array = NDArray[np.uint32]
UInt64Array = NDArray[np.uint64]
Float32Array = NDArray[np.float32]
Float64Array = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
