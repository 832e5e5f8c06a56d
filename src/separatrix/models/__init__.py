"""Models that travel: kept in files, and written down for others to run."""

from . import onnx_converter as onnx_converter  # gives classifiers what skl2onnx asks them for
