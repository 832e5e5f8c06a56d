"""Rows on a GPU: their arrays, kernels, and sums."""

from .base import DeviceRows
from .csr import DeviceCsrRows
from .dense import DeviceDenseRows
from .device import Device
from .gpu import Cuda, cuda, devices_in_use
from .groups import counts
from .kernels import CudaKernel
from .offset import DeviceOffsetRows
from .values import DeviceValues, at_home, device_values
from .vectors import DeviceVectors

__all__ = [
    "Cuda",
    "CudaKernel",
    "Device",
    "DeviceCsrRows",
    "DeviceDenseRows",
    "DeviceOffsetRows",
    "DeviceRows",
    "DeviceValues",
    "DeviceVectors",
    "at_home",
    "counts",
    "cuda",
    "device_values",
    "devices_in_use",
]
