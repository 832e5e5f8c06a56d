"""Saving models to files, and exporting them to other languages."""

from . import onnx_converter as onnx_converter  # adds the methods that skl2onnx looks for
