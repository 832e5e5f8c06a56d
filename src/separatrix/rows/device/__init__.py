"""Rows on a GPU: their arrays, kernels, and sums."""

from .base import DeviceRows
from .csr import DeviceCsrRows
from .dense import DeviceDenseRows
from .device import Device
from .gpu import Cuda, cuda, devices_in_use
from .kernels import CudaKernel
from .vectors import DeviceVectors

__all__ = [
    "Cuda",
    "CudaKernel",
    "Device",
    "DeviceCsrRows",
    "DeviceDenseRows",
    "DeviceRows",
    "DeviceVectors",
    "cuda",
    "devices_in_use",
]
