"""A batch normalization behind a convolution, as it goes into the convolution's weights and bias, and whether it still
is what the tensors say that it was made of."""

import ctypes
import weakref

import torch

from groupops_torch.checks import are_dense
from groupops_torch.kept import Entry

# What is folded must be computed as exactly as what it replaces: no factor may push weights or what is computed of
# them out of the range of normal numbers.
_LEAST_FACTOR, _LARGEST_FACTOR = 2.0**-40, 2.0**40


# How many layers a fold keeps, for the attributes, numbers of threads and activations that it was called with last.
LAYERS = 8


class _Vector:
    """The state of a contiguous tensor with a number for each channel; as kept.Entry, in fewer steps."""

    __slots__ = "tensor", "version", "address", "elements", "dtype", "read", "seen"

    def __init__(self, tensor):
        self.tensor = weakref.ref(tensor)
        self.version = tensor._version
        self.address = tensor.data_ptr()
        self.elements = tensor.numel()
        self.dtype = tensor.dtype
        size = self.elements * tensor.element_size()
        self.read = memoryview((ctypes.c_ubyte * size).from_address(self.address)).tobytes
        self.seen = self.read()

    def is_state_of(self, tensor):
        return (
            self.tensor() is tensor
            and self.version == tensor._version
            and self.address == tensor.data_ptr()
            and self.elements == tensor.numel()
            and self.dtype is tensor.dtype
            and tensor.is_contiguous()
            and not tensor.is_neg()
            and self.seen == self.read()
        )


def form(weight):
    """All of a weight that calls are decided by: its values do not count."""
    return weight.dtype, weight.shape, weight.stride()


class Fold:
    """The factors and the bias of a normalization behind a convolution, and the state of the weights and of
    `vectors`: the bias of the convolution, the normalization's weight, bias, means and variances."""

    def __init__(self, weight, vectors, epsilon):
        self.epsilon = epsilon
        self.entry = Entry(weight)
        self.form = form(weight)
        self.states = [None if t is None else _Vector(t) for t in vectors]
        self.layers = {}
        self.weight = None  # as PyTorch gets it
        bias, scale, shift, mean, variance = (None if t is None else t.detach() for t in vectors)
        self.factors, self.bias = None, bias
        if variance is not None:
            self.factors = (variance.double() + epsilon).rsqrt() * (1.0 if scale is None else scale.double())
            addend = ((0.0 if bias is None else bias.double()) - mean.double()) * self.factors
            self.bias = (addend if shift is None else addend + shift.double()).to(mean.dtype)
        self.is_usable = self.factors is None or self._is_exact(weight.detach())

    def _is_exact(self, weight):
        sizes = self.factors.abs()
        fit = (sizes == 0) | (sizes >= _LEAST_FACTOR) & (sizes <= _LARGEST_FACTOR)
        if not fit.all() or not self.bias.isfinite().all():
            return False
        limits, products = torch.finfo(weight.dtype), self.folded(weight).abs_()
        normal = (products >= limits.tiny) & (products <= limits.max)
        return bool((normal | (weight.abs() < limits.tiny) | (self._of_channels(sizes, weight) == 0)).all())

    def _of_channels(self, vector, weight):
        return vector.view(-1, *(1,) * (weight.dim() - 1))

    def is_made_of(self, weight, vectors, epsilon):
        bias = vectors[0]
        if bias is not None and bias.dim() != 1:  # PyTorch refuses it, of any size
            return False
        for state, t in zip(self.states, vectors):
            if state is None or t is None:
                if state is not t:
                    return False
            elif not state.is_state_of(t):
                return False
        return self.epsilon == epsilon and self.entry.weight() is weight and self.entry.is_valid_for(weight)

    def keep(self, key, layer):
        self.layers[key] = layer
        while len(self.layers) > LAYERS:
            self.layers.pop(next(iter(self.layers)), None)

    def folded(self, weight):
        weight = weight.detach()
        if self.factors is None:
            return weight
        return (weight.double() * self._of_channels(self.factors, weight)).to(weight.dtype)


def make(weight, vectors, epsilon):
    """A fold of these, or None where they are not alike."""
    tensors = [t for t in (weight, *vectors) if t is not None]
    if not are_dense(*tensors) or any(t.is_inference() for t in tensors):
        return None
    if not all(t.is_contiguous() and t.shape == weight.shape[:1] for t in tensors[1:]):
        return None
    return Fold(weight, vectors, epsilon)
