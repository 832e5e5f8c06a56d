"""A device without a GPU: the kernels run as C++ (``emulated_cuda.hpp``), products in NumPy.

Its arrays refuse conversion, as CuPy's do. ``Tensor`` stands for an array of another library there.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import scipy.linalg
from device_rows import DeviceArray

from separatrix.rows.device import Device
from separatrix.rows.device.staging import ahead

COMPILER = shutil.which("g++")
HEADER = Path(__file__).parent / "emulated_cuda.hpp"
SIGNATURE = re.compile(
    r'extern "C" __global__ void __launch_bounds__\(.*?\) (\w+)\(\s*(.*?)\) \{', re.S
)


@cache
def compiled(kernel):
    """The function ``launch(blocks, threads, arguments)`` of a kernel."""
    source = kernel.source
    name, parameters = SIGNATURE.search(source).groups()
    types = [each.strip().rsplit(" ", 1)[0] for each in parameters.split(",")]
    values = ", ".join(f"*({of}*)arguments[{i}]" for i, of in enumerate(types))
    text = f"""{HEADER.read_text()}
{source}
static void** arguments;
static void body() {{ {name}({values}); }}
extern "C" void launch(unsigned blocks, unsigned threads, void** given) {{
    gridDim.x = blocks; blockDim.x = threads; arguments = given; emulation::body = body;
    for (unsigned b = 0; b < blocks; b++) {{ blockIdx.x = b; emulation::run_block(threads); }}
}}
"""
    digest = hashlib.sha256((text + repr(kernel.options)).encode()).hexdigest()[:24]
    path = Path(tempfile.gettempdir()) / f"separatrix-emulated-{os.getuid()}-{digest}.so"
    if not path.exists():
        with tempfile.TemporaryDirectory() as folder:
            code, made = Path(folder) / "kernel.cpp", Path(folder) / "kernel.so"
            code.write_text(text)
            command = [COMPILER, "-O0", "-w", "-std=c++14", "-shared", "-fPIC", *kernel.options]
            subprocess.run([*command, str(code), "-o", str(made)], check=True)
            shutil.copy(made, f"{path}.{os.getpid()}")
            os.replace(f"{path}.{os.getpid()}", path)
    return ctypes.CDLL(str(path)).launch


def wide(values):
    """Bits of bfloat16 as float32; other values as they are."""
    if values.dtype != np.uint16:
        return values
    return (values.astype(np.uint32) << 16).view(np.float32)


class Slot:
    """Arrays that are overwritten when the slot is filled again."""

    def __init__(self):
        self.held = []

    def fill(self, arrays):
        for old in self.held:
            old.view(np.uint8)[:] = 0xFF
        self.held = [np.array(each) for each in arrays]

    def filled(self):
        return [DeviceArray(each) for each in self.held]


class EmulatedGpu(Device):
    """Two blocks at a time, so that teams take several groups of rows."""

    name = "cuda:0"
    description = "an emulated GPU"

    def __init__(self, free=1 << 30):
        self.free, self.launched, self.copied = free, [], []

    def adopt(self, X):
        return DeviceArray(X.held)

    def upload(self, values):
        return DeviceArray(np.array(values, order="C"))

    def download(self, values):
        return np.array(values.held, order="C")

    def copied_ahead(self, items):
        def counted():
            for arrays in items:
                self.copied.append(sum(each.nbytes for each in arrays))
                yield arrays

        return ahead(counted(), Slot(), Slot())

    def empty(self, shape, dtype=np.float64):
        poison = np.nan if np.dtype(dtype).kind == "f" else 77
        return DeviceArray(np.full(shape, poison, dtype))

    def zeros(self, shape, dtype=np.float64):
        return DeviceArray(np.zeros(shape, dtype))

    def aligned(self, values, size):
        return values.held.ctypes.data % size == 0

    def launch(self, kernel, blocks, *arguments, threads=256):
        self.launched.append(kernel)
        held = []
        for each in arguments:
            if each is None:
                held.append(ctypes.c_void_p())
            elif isinstance(each, DeviceArray):
                assert each.held.flags.c_contiguous
                held.append(ctypes.c_void_p(each.held.ctypes.data))
            else:
                held.append({4: ctypes.c_int32, 8: ctypes.c_int64}[each.itemsize](int(each)))
        pointers = (ctypes.c_void_p * len(held))(*(ctypes.addressof(each) for each in held))
        compiled(kernel)(max(blocks, 1), threads, pointers)

    def resident_blocks(self, kernel, threads):
        return 2

    def multiply(self, a, b, out, *, turn_a=False, turn_b=False, add=False):
        left, right = (wide(e.held).T if t else wide(e.held) for e, t in ((a, turn_a), (b, turn_b)))
        assert out.held.flags.c_contiguous
        out.held[:] = left @ right + (out.held if add else 0.0)

    def solve_triangular(self, factor, right, trans):
        return DeviceArray(scipy.linalg.solve_triangular(factor.held, right.held, trans=trans))

    def free_bytes(self):
        return self.free

    def release(self):
        pass


class Tensor:
    """An array of another library on a GPU, which only DLPack can read."""

    def __init__(self, held, number=0, requires_grad=False):
        self.held, self.number, self.requires_grad = np.asarray(held), number, requires_grad

    shape = property(lambda self: self.held.shape)
    dtype = property(lambda self: self.held.dtype)
    device = property(lambda self: f"cuda:{self.number}")

    def __array__(self, *_, **__):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    def __len__(self):
        return len(self.held)

    def __dlpack__(self, **_):
        raise TypeError("use the device")

    def __dlpack_device__(self):
        return 2, self.number
