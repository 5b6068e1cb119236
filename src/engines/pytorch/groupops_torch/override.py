"""The replacements of the two operators, and the switch that enables them."""

import contextlib
import os
import sys
import threading
import warnings
from concurrent.futures import thread as _of_pools
from functools import lru_cache

import torch

from groupops_torch import binding, checks, layers, originals
from groupops_torch.chain import Owner
from groupops_torch.graphs import Graphs
from groupops_torch.kept import Kept
from groupops_torch.modules import Modules
from groupops_torch.sequences import Sequences

_kept = Kept()
_lock = threading.Lock()
_registered = ()  # the torch.library.Library objects, while any enabled() is open, or still (_may_be_calling)
_open = 0
_replacing = False  # whether the forwards are replaced
_packing_each_call = 0  # how many open enabled() have pack_each_call
_relaxed = 0  # how many open enabled() have accuracy relaxed
_counts = {"convolution": 0, "native_group_norm": 0, "left to PyTorch": 0}

# How many layers of normalizations are cached.
NORMS = 256

_CPU = torch._C.DispatchKey.CPU
_ANY_BACKEND = torch._C.DispatchKey.CompositeExplicitAutograd
_BACKENDS = torch._C._dispatch_keyset_full_after(torch._C.DispatchKey.BackendSelect)
_has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
_their_convolution = torch._convolution
_is_tracing = torch._C._is_tracing
_norm_of = torch.ops.aten.native_group_norm.default._op_dk


def statistics():
    """How many calls of each operator the library served since the process began, how many it left
    to PyTorch, and how many layers have packed weights."""
    return {**_counts, "layers": len(_kept)}


def forget(weight=None):
    """Drops the packed filters of a weight, or of all weights, and what is remembered of calls. Needed after a write
    that PyTorch does not count and that changed only a few elements."""
    _kept.forget(weight)
    _modules.forget()
    _sequences.forget()
    _graphs.forget()


def fuse(model):
    """Lets calls inside enabled() run convolutions of this model with what follows them as one call each, also where
    its modules' own forwards call them. Returns how many such calls there are.

    The model stays as it is, and so must what its forwards do: torch.fx records it here, so that conditions and
    loops that do not depend on attributes of the model or sizes of tensors are as they were now. What
    torch.fx cannot follow is tried module by module. Not to be called while other threads use models."""
    if model.training:
        raise ValueError("the model is in training mode; call its eval() first")
    with _lock:
        return _graphs.fuse(model)


def _pytorch_convolution(*arguments):
    """PyTorch's own aten::convolution; the four flags are those for the CPU. A call by its name in
    torch.ops would take 10 us more."""
    _counts["left to PyTorch"] += 1
    return _their_convolution(*arguments, False, False, False, False)


def _accuracy():
    return "relaxed" if 0 < _relaxed == _open else "exact"


def _decide(data, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """The lists of a call that the library serves, or None."""
    if checks.left_at_once(data, weight, stride, dilation, transposed, groups):
        return None
    return checks.convolution(data, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


def _entry_of(weight, lists, groups):
    """What _convolution has kept of the weights of such a call."""
    return _kept.entry(weight, (lists, False, groups, torch.get_num_threads(), _accuracy()))


_modules = Modules(_decide, _entry_of, _counts)
_chains = Owner(_decide, _counts)
_sequences = Sequences(_chains)
_graphs = Graphs(_chains)


def _convolution(data, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    # A trace would hold what Python does with sizes and memory here, in place of the operator.
    if not _open or _is_tracing() or checks.left_at_once(data, weight, stride, dilation, transposed, groups):
        _counts["left to PyTorch"] += _open > 0
        return _their_convolution(
            data, weight, bias, stride, padding, dilation, transposed, output_padding, groups, False, False, False,
            False,
        )
    arguments = (data, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    lists = checks.convolution(*arguments)
    if lists is None:
        return _pytorch_convolution(*arguments)
    accuracy = _accuracy()
    channels_last = checks.plainly_channels_last(data)
    data = layers.contiguous(data, channels_last)

    def make():
        return layers.convolution(data, weight, *lists[:3], transposed, lists[3], groups, accuracy)

    try:
        if _packing_each_call:
            layer = make()
        else:
            layer = _kept.find(weight, (lists, transposed, groups, torch.get_num_threads(), accuracy), make)
            if layer is None:
                return _pytorch_convolution(*arguments)
        bias = None if bias is None else bias.contiguous()
        try:
            output = layer.run(data, data.shape, None, bias=bias)
        except binding.GroupopsError as refusal:
            if refusal.status != binding.UNSUPPORTED:
                raise
            # The packed filter does not fit this size: a layer for this call alone.
            output = make().run(data, data.shape, None, bias=bias)
    except binding.GroupopsError:  # the library has no algorithm or not enough memory
        return _pytorch_convolution(*arguments)
    _counts["convolution"] += 1
    return output.contiguous(memory_format=torch.channels_last) if channels_last else output


@lru_cache(maxsize=NORMS)
def _norm_layer(dtype, dims, group, epsilon, threads):
    return layers.group_norm(dtype, list(dims), group, epsilon)


@lru_cache(maxsize=NORMS)
def _constant(value, dtype, channels):
    return torch.full((channels,), value, dtype=dtype)


def _pytorch_norm(data, weight, bias, *numbers):
    """PyTorch's own kernel: that of the tensors' backend with the highest priority, or the one for all
    other backends."""
    _counts["left to PyTorch"] += _open > 0
    keys = torch._C._dispatch_keys(data) | torch._C._dispatch_tls_local_include_set()
    for t in (weight, bias):
        if t is not None:
            keys = keys | torch._C._dispatch_keys(t)
    keys = keys - torch._C._dispatch_tls_local_exclude_set()
    backend = (keys & _BACKENDS).highestPriorityTypeId()
    if not _has_kernel("aten::native_group_norm", backend):
        backend = _ANY_BACKEND
    return _norm_of(backend, data, weight, bias, *numbers)


@lru_cache(maxsize=None)
def _computes_norm(dtype):
    """Whether PyTorch has the normalization for the type: tried once."""
    try:
        _norm_of(_CPU, torch.zeros((1, 1, 1), dtype=dtype), None, None, 1, 1, 1, 1, 1.0)
    except RuntimeError:
        return False
    return True


def _group_norm(data, weight, bias, batch, channels, pixels, group, epsilon):
    arguments = (data, weight, bias, batch, channels, pixels, group, epsilon)
    if not _open or not checks.group_norm(*arguments) or not _computes_norm(data.dtype):
        return _pytorch_norm(*arguments)
    dims = (batch, channels, pixels)
    scale = _constant(1.0, data.dtype, channels) if weight is None else weight
    shift = _constant(0.0, data.dtype, channels) if bias is None else bias
    kind = torch.float64 if data.dtype == torch.float64 else torch.float32
    mean = torch.empty((batch, group), dtype=kind)
    variance = torch.empty((batch, group), dtype=kind)
    try:
        layer = _norm_layer(data.dtype, dims, group, float(epsilon), torch.get_num_threads())
        output = layer.run(data, dims, data.shape, scale, shift, mean, variance)
    except binding.GroupopsError:
        return _pytorch_norm(*arguments)
    _counts["native_group_norm"] += 1
    rstd = (variance + epsilon).rsqrt()
    return output, mean.to(data.dtype), rstd.to(data.dtype)


def _register():
    binding.load()  # so that a missing library is reported here, not by the first layer
    convolutions = torch.library.Library("aten", "IMPL", "CPU")
    # An override of the CPU kernel of aten::native_group_norm would make it unreachable for the calls
    # that are left to PyTorch. BackendSelect comes just before all backends, and PyTorch has no kernel
    # there.
    norms = torch.library.Library("aten", "IMPL", "BackendSelect")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the warning that a kernel is overridden
        convolutions.impl("convolution", _convolution)
        norms.impl("native_group_norm", _group_norm)
    return convolutions, norms


# Where a thread that is of no interest waits: functions whose own calls, those of C, are none of PyTorch's.
_WAITS = {
    function.__code__
    for function in (
        threading.Condition.wait, _of_pools._worker, getattr(threading.Thread, "_wait_for_tstate_lock", None),
    )
    if function is not None
}


def _may_be_calling():
    """Whether another thread may be in a call of an operator. PyTorch has looked up our replacement then and waits for
    Python, and would go on with what is free when the replacement is taken back."""
    own = threading.get_ident()
    return any(frame.f_code not in _WAITS for number, frame in sys._current_frames().items() if number != own)


def _set_accuracy():
    # Somebody may still have a forward of ours after it was given back.
    _modules.accuracy = _chains.accuracy = _accuracy() if _replacing and not _packing_each_call else None


@contextlib.contextmanager
def enabled(pack_each_call=False, accuracy=None):
    """Serves the process's convolutions and group normalizations while it is open; may be nested
    and opened by several threads. With pack_each_call weights are packed anew at every call, for as
    long as it is open. The accuracy is "exact" or "relaxed" (groupops/plan.h), which counts while all
    that are open say so; None takes the environment's GROUPOPS_ACCURACY or, without it, exact."""
    global _registered, _open, _replacing, _packing_each_call, _relaxed
    if accuracy is None:
        accuracy = os.environ.get("GROUPOPS_ACCURACY") or "exact"
    if accuracy not in binding.ACCURACIES:
        raise ValueError(f'accuracy is "{accuracy}"; it must be exact or relaxed')
    with _lock:
        if _open == 0:
            _registered = _registered or _register()
            _replacing = originals.are_theirs()
            if _replacing:
                _modules.open()
                _sequences.open()
                _graphs.open()
        _open += 1
        _packing_each_call += bool(pack_each_call)
        _relaxed += accuracy == "relaxed"
        _set_accuracy()
    try:
        yield
    finally:
        with _lock:
            _open -= 1
            _packing_each_call -= bool(pack_each_call)
            _relaxed -= accuracy == "relaxed"
            if _open == 0:
                _replacing = False
                _graphs.close()
                _sequences.close()
                _modules.close()
                if not _may_be_calling():  # else ours hand all calls to PyTorch until the next one closes
                    _registered = ()  # torch puts its own kernels back
            _set_accuracy()


def _unlock():
    global _lock
    _lock = threading.Lock()


# The thread that held the lock may not exist in a child of fork().
os.register_at_fork(after_in_child=_unlock)
