"""An array type of its own, as on a device: conversion to NumPy raises unless it is asked for."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import scipy.linalg

import separatrix as sx
from separatrix.rows import VectorSpace

MOVED = []  # the sizes of vectors that were copied to or from the host


class DeviceArray(np.lib.mixins.NDArrayOperatorsMixin):
    """Operators and NumPy's functions work on these alone, as with CuPy's arrays."""

    def __init__(self, held):
        self.held = held

    shape = property(lambda self: self.held.shape)
    size = property(lambda self: self.held.size)
    ndim = property(lambda self: self.held.ndim)
    flags = property(lambda self: self.held.flags)
    dtype = property(lambda self: self.held.dtype)

    def __array__(self, *_, **__):
        raise TypeError("implicit conversion to a NumPy array")

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        if out is not None:
            options["out"] = tuple(each.held for each in out)
        found = getattr(ufunc, method)(*map(inner, inputs), **options)
        return outer(found) if out is None else out[0]

    def __array_function__(self, function, types, args, options):
        return outer(function(*map(inner, args), **{k: inner(v) for k, v in options.items()}))

    nbytes = property(lambda self: self.held.nbytes)
    strides = property(lambda self: self.held.strides)

    def __getitem__(self, at):
        return outer(self.held[inner(at)])

    def __setitem__(self, at, value):
        self.held[inner(at)] = inner(value)

    def __len__(self):
        return len(self.held)

    def __bool__(self):
        return bool(self.held)

    def __float__(self):
        return float(self.held)

    def any(self):
        return bool(self.held.any())

    def copy(self, order="C"):
        return DeviceArray(self.held.copy(order))

    def astype(self, dtype):
        return DeviceArray(self.held.astype(dtype))

    def view(self, dtype):
        return DeviceArray(self.held.view(dtype))

    def min(self):
        return self.held.min()

    def max(self):
        return self.held.max()

    def ravel(self):
        return DeviceArray(self.held.ravel())


def inner(value):
    if isinstance(value, list):
        return [inner(each) for each in value]
    if isinstance(value, np.ndarray) and value.ndim:
        raise TypeError("an array of the host among those of the device")
    return value.held if isinstance(value, DeviceArray) else value


def outer(found):
    return DeviceArray(found) if isinstance(found, np.ndarray) else found


class DeviceVectors(VectorSpace):
    """The two-loop recursion and triangular systems in plain NumPy, of what is held."""

    def asarray(self, v):
        if not isinstance(v, DeviceArray):
            MOVED.append(v.size)
            v = DeviceArray(np.array(v))
        return v

    def to_host(self, v):
        MOVED.append(v.size)
        return v.held.copy()

    def kept(self, v):
        return DeviceArray(np.array(v))

    def two_loop(self, gradient, pairs):
        q, steps = gradient.held.copy(), []
        for pair in reversed(pairs):
            steps.append(np.vdot(pair.s.held, q) / pair.sy)
            q -= steps[-1] * pair.y.held
        if pairs:
            q *= pairs[-1].sy / pairs[-1].yy
        for pair, step in zip(pairs, reversed(steps), strict=True):
            q += (step - np.vdot(pair.y.held, q) / pair.sy) * pair.s.held
        return DeviceArray(-q), -float(np.vdot(gradient.held, q))

    def solve_triangular(self, factors, right, trans):
        of_class = [R.held for R in factors] * (len(right) if len(factors) == 1 else 1)
        pairs = zip(of_class, right.held, strict=True)
        return DeviceArray(
            np.stack([scipy.linalg.solve_triangular(*p, trans=trans) for p in pairs])
        )


SPACE = DeviceVectors()


class DeviceSource(sx.ArraySource):
    """Rows that take weights of the space, and return sums of their shape there."""

    def vectors_of(self, shape):
        return SPACE

    def total(self, sum):
        held = {f.name: getattr(sum, f.name) for f in fields(sum)}
        on_device = {k: v.held for k, v in held.items() if isinstance(v, DeviceArray)}
        found = super().total(replace(sum, **on_device))
        shape = (1 if len(self.classes) == 2 else len(self.classes), self.n_features + 1)
        vector = (isinstance(v, np.ndarray) and v.shape == shape and on_device for v in found)
        return tuple(DeviceArray(v) if is_v else v for v, is_v in zip(found, vector, strict=True))

    def sample(self, size):
        found = super().sample(size).block()
        return DeviceSource(found.X, found.y, self.classes, found.weight)
