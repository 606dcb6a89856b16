"""Integers and arrays that refuse to become floats, and a sampler that hands out nothing else."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


class FloatError(AssertionError):
    """An exact value was about to become a float."""


class Strict(int):
    """An integer whose results are strict integers, too, and which no operation turns into a float."""

    def __float__(self):
        raise FloatError("float() of an exact integer")

    def __truediv__(self, other):
        raise FloatError("true division of an exact integer")

    __rtruediv__ = __truediv__

    def __complex__(self):
        raise FloatError("complex() of an exact integer")

    def __index__(self):
        return self

    @property
    def numerator(self):
        return self

    @property
    def denominator(self):
        return Strict(1)


def _strict(name):
    plain = getattr(int, name)

    def operation(self, *others):
        value = plain(self, *others)
        if isinstance(value, float):
            raise FloatError(name)
        if isinstance(value, tuple):
            return tuple(Strict(v) for v in value)
        return Strict(value) if type(value) is int else value

    return operation


for _name in (
    "add",
    "sub",
    "mul",
    "floordiv",
    "mod",
    "divmod",
    "lshift",
    "rshift",
    "and",
    "or",
    "xor",
    "pow",
):
    for _side in ("", "r"):
        setattr(Strict, f"__{_side}{_name}__", _strict(f"__{_side}{_name}__"))
for _name in ("neg", "pos", "abs", "invert"):
    setattr(Strict, f"__{_name}__", _strict(f"__{_name}__"))


class StrictScale:
    """A fraction whose parts are strict: what exact samplers need of a scale."""

    def __init__(self, value):
        value = Fraction(value)
        self.numerator, self.denominator = Strict(value.numerator), Strict(value.denominator)


class StrictBits:
    """Bits of another source, as strict integers."""

    def __init__(self, source):
        self.source = source

    def bits(self, count):
        return Strict(self.source.bits(int(count)))


class IntegerArray(np.ndarray):
    """An integer array from which no float array can be computed."""

    def __array_finalize__(self, obj):
        if self.dtype.kind not in "iubO":
            raise FloatError(f"an exact array became {self.dtype}")

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        plain = [x.view(np.ndarray) if isinstance(x, IntegerArray) else x for x in inputs]
        if out is not None:
            kwargs["out"] = tuple(x.view(np.ndarray) if isinstance(x, IntegerArray) else x for x in out)
        result = getattr(ufunc, method)(*plain, **kwargs)
        kind = getattr(result, "dtype", np.dtype(int)).kind
        if kind not in "iubO":
            raise FloatError(f"{ufunc.__name__} of an exact array gave {result.dtype}")
        return result.view(IntegerArray) if isinstance(result, np.ndarray) else result


class StrictSampler:
    """The operating system's noise as strict arrays; statistics must be integers, scales exact fractions."""

    simulated = False

    def __init__(self, sampler):
        self.sampler = sampler
        self.requests = 0

    def discrete_laplace(self, scale, size):
        self._check(scale)
        return self.sampler.discrete_laplace(scale, size).view(IntegerArray)

    def permute_and_flip(self, scores, scale):
        self._check(scale, scores)
        return Strict(self.sampler.permute_and_flip(scores, scale))

    def permute_and_flip_groups(self, sizes, scores, scale):
        self._check(scale, scores, sizes)
        group, offset = self.sampler.permute_and_flip_groups(sizes, scores, scale)
        return Strict(group), Strict(offset)

    def uniform(self, bound):
        self._check(Fraction(1), [bound])
        return Strict(self.sampler.uniform(bound))

    def _check(self, scale, *lists):
        self.requests += 1
        assert type(scale) is Fraction
        for values in lists:
            assert all(isinstance(v, (int, np.integer)) and not isinstance(v, bool) for v in values)
