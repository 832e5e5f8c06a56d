"""NVIDIA GPUs, through CuPy: memory, cuBLAS, and kernels compiled by NVRTC on first use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ...numeric.types import AnyArray
from .device import Device
from .kernels import THREADS, CudaKernel
from .staging import Staging

INSTALL = (
    "install CuPy for the CUDA version of the driver: pip install 'separatrix[gpu-cuda13]' or "
    "'separatrix[gpu-cuda12]'"
)

FLOAT32, BFLOAT16 = 0, 14  # CUDA_R_32F and CUDA_R_16BF
COMPUTE_FLOAT32 = 68  # CUBLAS_COMPUTE_32F
HOST_TO_DEVICE, SMALL_COPY = 1, 8 << 20  # cudaMemcpyHostToDevice; bytes
USED: dict[int, Cuda] = {}


class Cuda(Device):
    """One GPU. Work is ordered after that of the caller's current stream in CuPy."""

    def __init__(self, number: int) -> None:
        import cupy
        import cupy.cublas
        import cupyx.scipy.linalg
        from cupy_backends.cuda.libs import cublas

        self.cupy, self.linalg, self.blas = cupy, cupyx.scipy.linalg, cublas
        self.number = number
        self.name = f"cuda:{number}"
        self.device = cupy.cuda.Device(number)
        self.staging = Staging(cupy, self.device)
        self._compiled: dict[CudaKernel, Any] = {}
        self._resident: dict[tuple[CudaKernel, int], int] = {}

    def __reduce__(self) -> tuple[Any, tuple[int]]:
        return cuda, (self.number,)

    @property
    def description(self) -> str:
        """The name of the GPU and the version of its driver."""
        runtime = self.cupy.cuda.runtime
        name = runtime.getDeviceProperties(self.number)["name"].decode()
        driver = runtime.driverGetVersion()
        return f"{name} (CUDA driver {driver // 1000}.{driver % 1000 // 10})"

    def adopt(self, X: Any) -> Any:
        """Through DLPack, which orders work after that of the array's library."""
        with self.device:
            if isinstance(X, self.cupy.ndarray):
                return X
            return self.cupy.from_dlpack(X) if hasattr(X, "__dlpack__") else self.cupy.asarray(X)

    def upload(self, values: AnyArray) -> Any:
        """Copy an array of the host; a small one without pinned memory, which takes longer."""
        given = np.ascontiguousarray(values)
        with self.device:
            if given.nbytes > SMALL_COPY or not given.size:
                return self.cupy.asarray(given)
            made = self.cupy.empty(given.shape, given.dtype)
            stream = self.cupy.cuda.get_current_stream()
            # From pageable memory: the call returns when the values have been taken.
            self.cupy.cuda.runtime.memcpyAsync(
                made.data.ptr, given.ctypes.data, given.nbytes, HOST_TO_DEVICE, stream.ptr
            )
            return made

    def download(self, values: Any) -> AnyArray:
        with self.device:
            found: AnyArray = self.cupy.asnumpy(values, order="C")
        return found

    def copied_ahead(self, items: Iterable[Sequence[AnyArray]]) -> Iterator[list[Any]]:
        return self.staging.copied_ahead(items)

    def expect_copies(self, values: AnyArray) -> None:
        """Its pages are locked."""
        self.staging.pages.note(values)

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike = np.float64) -> Any:
        with self.device:
            return self.cupy.empty(shape, dtype)

    def zeros(self, shape: tuple[int, ...], dtype: DTypeLike = np.float64) -> Any:
        with self.device:
            return self.cupy.zeros(shape, dtype)

    def aligned(self, values: Any, size: int) -> bool:
        return bool(values.data.ptr % size == 0)

    def launch(
        self, kernel: CudaKernel, blocks: int, *arguments: Any, threads: int = THREADS
    ) -> None:
        """Compile the kernel on first use, and run it."""
        with self.device:
            self._function(kernel)((max(blocks, 1),), (threads,), arguments)

    def resident_blocks(self, kernel: CudaKernel, threads: int) -> int:
        """By the driver's occupancy calculator."""
        key = kernel, threads
        if key not in self._resident:
            self._resident[key] = self._resident_blocks(kernel, threads)
        return self._resident[key]

    def _resident_blocks(self, kernel: CudaKernel, threads: int) -> int:
        with self.device:
            function = self._function(kernel).kernel
            occupancy = self.cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor
            each = occupancy(function.ptr, threads, 0)
        return int(max(each, 1) * self.device.attributes["MultiProcessorCount"])

    def _function(self, kernel: CudaKernel) -> Any:
        if kernel not in self._compiled:
            module = self.cupy.RawModule(
                code=kernel.source, options=("--std=c++14", *kernel.options)
            )
            self._compiled[kernel] = module.get_function(kernel.name)
        return self._compiled[kernel]

    def multiply(
        self,
        a: Any,
        b: Any,
        out: Any,
        *,
        turn_a: bool = False,
        turn_b: bool = False,
        add: bool = False,
    ) -> None:
        """By cuBLAS."""
        turns = ("T" if turn_a else "N"), ("T" if turn_b else "N")
        with self.device:
            if a.dtype == np.uint16:
                self._multiply_bfloat16(a, b, out, turn_a, turn_b, add)
            else:
                self.cupy.cublas.gemm(*turns, a, b, out=out, alpha=1.0, beta=float(add))

    def _multiply_bfloat16(
        self, a: Any, b: Any, out: Any, turn_a: bool, turn_b: bool, add: bool
    ) -> None:
        """cuBLAS has columns where C has rows: it computes the transposed product."""
        rows, columns = out.shape
        inner = a.shape[0] if turn_a else a.shape[1]
        factors = np.array([1.0, float(add)], dtype=np.float32)
        one, beta = factors.ctypes.data, factors.ctypes.data + factors.itemsize
        self.blas.gemmEx(
            self.device.cublas_handle, int(turn_b), int(turn_a), columns, rows, inner, one,
            b.data.ptr, BFLOAT16, b.shape[1], a.data.ptr, BFLOAT16, a.shape[1], beta,
            out.data.ptr, FLOAT32, columns, COMPUTE_FLOAT32, -1,
        )  # fmt: skip

    def solve_triangular(self, factor: Any, right: Any, trans: int) -> Any:
        """By cuBLAS."""
        with self.device:
            return self.linalg.solve_triangular(factor, right, trans=trans)

    def free_bytes(self) -> int:
        """Free memory of the GPU and of CuPy's pool, within the pool's limit if it has one."""
        with self.device:
            pool = self.cupy.get_default_memory_pool()
            free = int(self.device.mem_info[0] + pool.free_bytes())
            limit = pool.get_limit()
            return min(free, max(limit - pool.used_bytes(), 0)) if limit else free

    def out_of_memory(self, error: MemoryError) -> str | None:
        """What to do about an error of CuPy; None if it is another's."""
        if not isinstance(error, self.cupy.cuda.memory.OutOfMemoryError):
            return None
        total = self.device.mem_info[1]
        return (
            f"the memory of {self.name} is exhausted: {self.free_bytes() / 1e9:.2f} GB of "
            f"{total / 1e9:.2f} GB are free ({error}): free memory of other libraries, e.g. "
            "torch.cuda.empty_cache(), or pass X in main memory with device='cuda', so that rows "
            "are copied in blocks"
        )

    def release(self) -> None:
        """Return the free blocks of CuPy's pools, and unlock pages of the host."""
        with self.device:
            self.staging.close()
            self.cupy.get_default_pinned_memory_pool().free_all_blocks()
            self.cupy.get_default_memory_pool().free_all_blocks()


def devices_in_use() -> tuple[Cuda, ...]:
    """The GPUs that this process has used."""
    return tuple(USED.values())


@cache
def cuda(number: int) -> Cuda:
    """A GPU by its number; ImportError or RuntimeError with advice if there is none."""
    try:
        import cupy
    except ImportError as error:
        raise ImportError(
            f"arrays on a GPU need CuPy, which is not installed: {INSTALL}; "
            "or pass copies in main memory, e.g. X.cpu()"
        ) from error
    try:
        count = int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise RuntimeError(
            f"CuPy {cupy.__version__} finds no GPU that it can use ({error}): check nvidia-smi, "
            f"and {INSTALL}; or set device='cpu'"
        ) from error
    if number >= count:
        raise RuntimeError(
            f"device 'cuda:{number}' does not exist, there are {count}: use 'cuda:0'"
            + (f" to 'cuda:{count - 1}'" if count > 1 else "")
        )
    return USED.setdefault(number, Cuda(number))
