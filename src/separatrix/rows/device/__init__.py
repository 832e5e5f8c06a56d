"""Rows on a GPU: their arrays, kernels, and sums."""

from .base import DeviceRows
from .csr import DeviceCsrRows
from .cuda import Cuda, cuda, devices_in_use
from .dense import DeviceDenseRows
from .device import Device
from .kernels import Kernel
from .vectors import DeviceVectors

__all__ = [
    "Cuda",
    "Device",
    "DeviceCsrRows",
    "DeviceDenseRows",
    "DeviceRows",
    "DeviceVectors",
    "Kernel",
    "cuda",
    "devices_in_use",
]
