"""A layer: its plans, one for each shape that occurs, and its packed weights."""

import ctypes
import threading
from ctypes import byref, c_void_p

import torch

from groupops_torch import binding

# By dtype: the library's number for it (include/groupops/tensor.h).
TYPES = {torch.float64: 1, torch.float32: 2, torch.float16: 3, torch.bfloat16: 4}

# How many plans a layer keeps. A plan has some 3 KB and is made in microseconds.
PLANS = 16

# The largest workspace, in bytes, that a thread keeps from one call to the next: the system takes some time to
# give memory and to clear it. The networks of torchvision take at most half as much.
KEPT_WORKSPACE = 2**22

# The fewest elements of an image that contiguous() copies as a matrix: 50176 of 256 channels take 29 us so, and 47
# as PyTorch copies them; 800000 take 0.7 ms and 4.8 (Intel Xeon, Granite Rapids class).
MIN_TRANSPOSED = 2**15

_of_thread = threading.local()


def _address(tensor):
    return 0 if tensor is None else tensor.data_ptr()


def contiguous(data, channels_last):
    """The tensor, or a contiguous copy; PyTorch transposes matrices faster than it copies images of
    channels_last."""
    if channels_last and data.shape[0] == 1 and data.numel() >= MIN_TRANSPOSED:
        channels = data.shape[1]
        return data.as_strided((channels, data.numel() // channels), (1, channels)).contiguous().view(data.shape)
    return data.contiguous()


def _workspace(size):
    """Memory of PyTorch's for so many bytes, and an aligned address in it."""
    found = getattr(_of_thread, "workspace", None)
    if found is None or found[2] < size:
        memory = torch.empty(size + binding.WORKSPACE_ALIGNMENT, dtype=torch.uint8)
        address = memory.data_ptr()
        found = memory, address + -address % binding.WORKSPACE_ALIGNMENT, size
        if size <= KEPT_WORKSPACE:
            _of_thread.workspace = found
    return found[:2]


class Layer:
    """The plans that share one packing (gops_plan_cache), and the packed filter, if there is one."""

    def __init__(self, plan, weight=None):
        self._cache = c_void_p()
        self._filter = c_void_p()
        self._held = {}  # results of _prepare by sizes, which live as long as the layer
        try:
            if weight is not None:
                binding.call("filter_create", plan, weight.data_ptr(), None, byref(self._filter))
            binding.call("plan_cache_create", plan, PLANS, byref(self._cache))
        finally:
            binding.release("plan_destroy", plan)

    def __del__(self):
        # When the interpreter ends, the module may be deleted before its last layers.
        if binding is None:
            return
        for plan, _, _ in self._held.values():
            binding.release("plan_cache_release", self._cache, plan)
        if self._cache:
            binding.release("plan_cache_destroy", self._cache)
        if self._filter:
            binding.release("filter_destroy", self._filter)

    def _prepare(self, dtype, dims):
        """The plan for data of these sizes, which must be released; its output's sizes; the bytes of its
        workspace."""
        plan = c_void_p()
        described = binding.tensor(TYPES[dtype], dims)
        binding.call("plan_cache_get", self._cache, byref(described), None, byref(plan))
        info = binding.PlanInfo(size=ctypes.sizeof(binding.PlanInfo))
        binding.call("plan_get_info", plan, byref(info))
        return plan, info.shape.output.dims[: info.shape.output.rank], info.workspace_bytes

    def run(self, data, dims, output_dims, scale=None, bias=None, mean=None, variance=None, residual=None):
        """The output for `data`, which is contiguous and has the sizes `dims`, a tuple, to the library. An
        output_dims of None takes the plan's."""
        held = self._held.get(dims)
        prepared = held or self._prepare(data.dtype, dims)
        if held is None and len(self._held) < PLANS:
            # If another thread was faster, its plan stays.
            held = prepared if self._held.setdefault(dims, prepared) is prepared else None
        try:
            return self._execute(prepared, data, output_dims, scale, bias, mean, variance, residual)
        finally:
            if held is None:
                binding.release("plan_cache_release", self._cache, prepared[0])

    def _execute(self, prepared, data, output_dims, scale, bias, mean, variance, residual):
        plan, plan_dims, workspace_bytes = prepared
        output = torch.empty(plan_dims if output_dims is None else output_dims, dtype=data.dtype)
        workspace, at = _workspace(workspace_bytes)
        binding.execute(
            plan,
            binding.ARGUMENTS.pack(
                binding.ARGUMENTS.size, data.data_ptr(), self._filter.value or 0, _address(scale), _address(bias),
                output.data_ptr(), _address(residual), _address(mean), _address(variance), 0, at, workspace_bytes,
                0, 0, 0,
            ),
        )
        return output


def options(accuracy="exact", activation=None):
    return binding.Options(
        size=ctypes.sizeof(binding.Options),
        threads=torch.get_num_threads(),
        accuracy=binding.ACCURACIES[accuracy],
        activation=binding.Activation(*activation or ()),
    )


def convolution(data, weight, stride, padding, dilation, transposed, output_padding, groups, accuracy, activation=None):
    """A layer for weight, [G C_OUT, C_IN, k...] or transposed [G C_IN, C_OUT, k...]; the activation is kind,
    alpha and beta of gops_activation."""
    number = TYPES[data.dtype]
    filter_dims = [groups, weight.shape[0] // groups, *weight.shape[1:]]
    described = binding.tensor(number, list(data.shape)), binding.tensor(number, filter_dims)
    lists = {
        "strides": binding.numbers(stride),
        "pads_begin": binding.numbers(padding),
        "pads_end": binding.numbers(padding),
        "dilations": binding.numbers(dilation),
    }
    plan = c_void_p()
    if transposed:
        attributes = binding.DeconvAttributes(output_padding=binding.numbers(output_padding), **lists)
        name = "deconv_plan_create"
    else:
        attributes = binding.ConvAttributes(**lists)
        name = "conv_plan_create"
    binding.call(name, *map(byref, described), byref(attributes), byref(options(accuracy, activation)), byref(plan))
    return Layer(plan, weight.detach().contiguous())


def group_norm(dtype, dims, group, epsilon):
    """A layer for data [N, C, pixels]."""
    data = binding.tensor(TYPES[dtype], dims)
    channels = binding.tensor(TYPES[dtype], dims[1:2])
    attributes = binding.NormAttributes(group, epsilon)
    plan = c_void_p()
    binding.call(
        "norm_plan_create",
        byref(data), byref(channels), byref(channels), byref(attributes), byref(options()), byref(plan),
    )
    return Layer(plan)
