"""Every kernel is compiled for GPUs by NVRTC, where its library can be loaded without a GPU."""

from __future__ import annotations

import ctypes
import glob
import sysconfig
from importlib.resources import files

import pytest

from separatrix.rows.device import CudaKernel

pytestmark = pytest.mark.slow
ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
DENSE = {"PACK": 4, "PER_LANE": 8, "WARPS": 2, "ROWS": 8, "TEAMS": 1, "VALUES": 32}
MACROS = {
    "dense_pass": {
        **DENSE, "STAGES": 2, "RESIDENT": 1, "FULL": 0, "Sum": "double", "LOSS": 0, "MODE": 0,
        "GRADIENT": 1, "CURVATURE": 1,
    },
    "dense_moments": DENSE,
    "sum_rows": {"COLUMNS": 32, "ADD": 1},
    "class_losses": {
        "FORM": 1, "LOSS": 0, "LANES": 32, "GRADIENT": 1, "CURVATURE": 1, "Score": "float",
    },
    "class_curvature": {"FORM": 1, "LOSS": 0, "LANES": 32, "MODE": 2},
    "standardize_rows": {"VALUES": 17, "ROOT": 1, "POWER": 2, "Out": "double"},
    "group_weights": {},
    "split_bfloat16": {},
    "not_finite": {"VALUES": 16},
    "csr_scores": {"VALUES": 64, "Index": "int", "LANES": 8},
    "csr_exact_scores": {"VALUES": 32, "Index": "long long", "LANES": 32},
    "csr_norms": {"VALUES": 32, "LANES": 8},
    "csr_row_numbers": {},
    "csr_transpose": {"VALUES": 32, "POWER": 1},
    "column_segments": {"SEGMENT": 2048},
    "column_sums": {},
    "count_values": {},
}  # fmt: skip


def nvrtc():
    """The library of the wheel `nvidia-cuda-nvrtc`, or of an installed toolkit; else a skip."""
    found = glob.glob(f"{sysconfig.get_path('purelib')}/nvidia/**/libnvrtc.so.*", recursive=True)
    for name in [*found, "libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"]:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    pytest.skip("NVRTC is not installed: pip install nvidia-cuda-nvrtc")


def test_every_kernel_is_listed():
    folder = files("separatrix.rows.device") / "kernels"
    assert {each.name for each in folder.iterdir() if each.name.endswith(".cu")} == {
        f"{name}.cu" for name in MACROS
    }


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", MACROS)
def test_compiles(name, architecture):
    library, kernel = nvrtc(), CudaKernel.of(name, **MACROS[name])
    program = ctypes.c_void_p()
    assert not library.nvrtcCreateProgram(
        ctypes.byref(program), kernel.source.encode(), f"{name}.cu".encode(), 0, None, None
    )
    options = [f"--gpu-architecture={architecture}", "--std=c++14", *kernel.options]
    given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    failed = library.nvrtcCompileProgram(program, len(options), given)
    size = ctypes.c_size_t()
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    assert not failed, log.value.decode()
    assert not library.nvrtcGetCUBINSize(program, ctypes.byref(size))
    assert size.value > 0
