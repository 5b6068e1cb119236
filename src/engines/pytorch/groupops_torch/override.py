"""What stands in for the two operators while it is enabled."""

import contextlib
import threading
import warnings
from functools import lru_cache

import torch

from groupops_torch import binding, layers
from groupops_torch.kept import Kept

_kept = Kept()
_lock = threading.Lock()
_registered = None  # the torch.library.Library, while any enabled() is open
_open = 0
_counts = {"convolution": 0, "native_group_norm": 0, "left to PyTorch": 0}

# Shapes and attributes of normalizations that plans are kept for.
NORMS = 256


def statistics():
    """How many calls of each operator the library served since the process began, how many it left
    to PyTorch, and how many layers have packed weights."""
    return {**_counts, "layers": len(_kept)}


def forget(weight=None):
    """Drops what was packed for a weight, or for all: after a write that PyTorch does not count,
    through `.data` or shared memory."""
    _kept.forget(weight)


def _serves(data, *others):
    """Plain tensors on the CPU, not empty, of one type, which is the library's too."""
    dtype = data.dtype
    if dtype not in layers.TYPES:
        return False
    for t in (data, *others):
        if t is not None and not (
            t.dtype is dtype and t.layout is torch.strided and t.is_cpu and t.numel() > 0
        ):
            return False
    return True


def _prefers_channels_last(data):
    """A tensor that PyTorch computes in another layout, and would have to be copied for ours."""
    if data.is_contiguous():
        return False
    if data.dim() == 4:
        return data.is_contiguous(memory_format=torch.channels_last)
    return data.dim() == 5 and data.is_contiguous(memory_format=torch.channels_last_3d)


def _convolution(data, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    spatial = data.dim() - 2
    taken = (
        not _prefers_channels_last(data)
        and 1 <= spatial <= 3
        and weight.dim() == data.dim()
        and _serves(data, weight, bias)
        and groups > 0
        and weight.shape[0] % groups == 0
    )
    if not taken:
        _counts["left to PyTorch"] += 1
        # What aten::convolution comes to without us; the four flags are those of a CPU. By its name in
        # torch.ops the call takes 10 us more.
        return torch._convolution(
            data, weight, bias, stride, padding, dilation, transposed, output_padding, groups,
            False, False, False, False,
        )
    lists = [tuple(given) if len(given) == spatial else tuple(given) * spatial
             for given in (stride, padding, dilation, output_padding)]
    attributes = (*lists, transposed, groups, torch.get_num_threads())
    data = data.contiguous()

    def make():
        return layers.convolution(data, weight, *lists[:3], transposed, lists[3], groups)

    layer = _kept.find(weight, attributes, make)
    bias = None if bias is None else bias.contiguous()
    try:
        output = layer.run(data, list(data.shape), None, bias=bias)
    except binding.GroupopsError as refusal:
        if refusal.status != binding.UNSUPPORTED:
            raise
        # The packing does not serve this size: a layer for it alone.
        output = make().run(data, list(data.shape), None, bias=bias)
    _counts["convolution"] += 1
    return output


@lru_cache(maxsize=NORMS)
def _norm_layer(dtype, dims, group, epsilon, threads):
    return layers.group_norm(dtype, list(dims), group, epsilon)


@lru_cache(maxsize=NORMS)
def _constant(value, dtype, channels):
    return torch.full((channels,), value, dtype=dtype)


def _formula(data, weight, bias, batch, channels, pixels, group, epsilon):
    """The normalization by PyTorch's other operators: its own kernel is out of reach while it is
    overridden."""
    groups = data.reshape(batch, group, -1)
    wide = groups.to(torch.promote_types(data.dtype, torch.float32))
    variance, mean = torch.var_mean(wide, dim=2, unbiased=False)
    rstd = (variance + epsilon).rsqrt()
    output = ((wide - mean[..., None]) * rstd[..., None]).reshape(batch, channels, -1)
    if weight is not None:
        output = output * weight.reshape(1, channels, 1)
    if bias is not None:
        output = output + bias.reshape(1, channels, 1)
    kind = data.dtype if weight is None else weight.dtype
    return output.to(data.dtype).reshape(data.shape), mean.to(kind), rstd.to(kind)


def _group_norm(data, weight, bias, batch, channels, pixels, group, epsilon):
    if not _serves(data, weight, bias):
        _counts["left to PyTorch"] += 1
        return _formula(data, weight, bias, batch, channels, pixels, group, epsilon)
    dims = (batch, channels, pixels)
    layer = _norm_layer(data.dtype, dims, group, float(epsilon), torch.get_num_threads())
    scale = _constant(1.0, data.dtype, channels) if weight is None else weight.contiguous()
    shift = _constant(0.0, data.dtype, channels) if bias is None else bias.contiguous()
    kind = torch.float64 if data.dtype == torch.float64 else torch.float32
    mean = torch.empty((batch, group), dtype=kind)
    variance = torch.empty((batch, group), dtype=kind)
    output = layer.run(data.contiguous(), list(dims), list(data.shape), scale, shift, mean, variance)
    _counts["native_group_norm"] += 1
    rstd = (variance + epsilon).rsqrt()
    return output, mean.to(data.dtype), rstd.to(data.dtype)


def _register():
    library = torch.library.Library("aten", "IMPL", "CPU")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a kernel is overridden, which is the purpose
        library.impl("convolution", _convolution)
        library.impl("native_group_norm", _group_norm)
    return library


@contextlib.contextmanager
def enabled():
    """Serves the process's convolutions and group normalizations while it is open; may be nested
    and opened by several threads."""
    global _registered, _open
    with _lock:
        if _open == 0:
            _registered = _register()
        _open += 1
    try:
        yield
    finally:
        with _lock:
            _open -= 1
            if _open == 0:
                _registered = None  # torch puts its own kernels back
