"""Calls of modules, and what was decided for them."""

import torch
from torch.autograd import forward_ad
from torch.nn.modules import module as _of_modules

# How many calls are remembered for a module.
CALLS = 8

_Tensor = torch.Tensor
gradients = torch.is_grad_enabled
autocast = torch.is_autocast_cpu_enabled
function_modes = torch._C._len_torch_function_stack
dispatch_modes = torch._C._len_torch_dispatch_stack
is_tracing = torch._C._is_tracing
# Of functorch: grad, vmap, functionalize.
transforms = getattr(torch._C, "_are_functorch_transforms_active", lambda: False)
# Those that see the calls of all modules.
global_hooks = (
    _of_modules._global_backward_hooks,
    _of_modules._global_forward_hooks,
    _of_modules._global_forward_pre_hooks,
)

# The dispatch keys of tensors that lie in memory as their sizes and strides say.
_PLAIN = {str(torch._C._dispatch_keys(torch.empty(1)))}
with torch.inference_mode():
    _PLAIN.add(str(torch._C._dispatch_keys(torch.empty(1))))


def is_extraordinary(data):
    """Whether a call is to take PyTorch's own way: something sees more of it than its result."""
    return (
        type(data) is not _Tensor
        or gradients()
        or autocast()
        or function_modes()
        or dispatch_modes()
        or is_tracing()
        or transforms()
        or forward_ad._current_level >= 0  # tangents
    )


def is_plain(data, axes):
    """Whether it is a batch of images, real, that lie in memory as their sizes and strides say."""
    return data.dim() == axes + 2 and not data.is_complex() and str(torch._C._dispatch_keys(data)) in _PLAIN


def makes_plain_tensors():
    """Whether a tensor that is made now will be plain. Inside torch._enable_functionalization, it would not be."""
    return str(torch._C._dispatch_keys(torch.empty(1))) in _PLAIN


def is_readable(data):
    """Whether the elements of a tensor that was plain lie at an address, as they are."""
    try:
        address = data.data_ptr()
    except RuntimeError:  # a tensor of vmap or functionalization
        return False
    return address != 0 and address % data.element_size() == 0 and not data.is_neg()


class Call:
    """What a call was decided by, and what was decided: `lists` (checks.convolution) where the library serves
    it; without them it is PyTorch's. Calls for a module are a list, the latest first."""

    __slots__ = (
        "stride", "dtype", "kind", "attributes", "shape", "next", "lists", "contiguous", "converted", "threads",
        "accuracy", "entry", "made", "output_shape", "weight",
    )

    def __init__(self, module, data, lists, converted, accuracy):
        own = module.__dict__
        self.kind = type(module)
        self.stride = data.stride()
        self.dtype = data.dtype
        self.attributes = own["stride"], own["padding"], own["dilation"], own["groups"], own["padding_mode"]
        self.shape = data.shape
        self.next = None
        self.lists = lists
        self.contiguous = data.is_contiguous()
        self.converted = converted
        self.threads = torch.get_num_threads()
        self.accuracy = accuracy
        self.entry = self.made = self.output_shape = self.weight = None

    def followed_by(self, other):
        """This call, and behind it those that were remembered for other inputs."""
        others = []
        while other is not None and len(others) < CALLS - 1:
            if (other.stride, other.dtype, other.shape) != (self.stride, self.dtype, self.shape):
                others.append(other)
            other = other.next
        for one, following in zip([self, *others], [*others, None]):
            one.next = following
        return self


def find(call, kind, own, data):
    """The first of the calls that is for such data and a module's class and attributes as they are, or None."""
    try:
        while call is not None and not (
            call.shape == data.shape
            and call.stride == data.stride()
            and call.dtype is data.dtype
            and call.kind is kind
            # The very objects, which do not change: 1.0, where PyTorch wants an integer, equals 1.
            and (attributes := call.attributes)[0] is own["stride"]
            and attributes[1] is own["padding"]
            and attributes[2] is own["dilation"]
            and attributes[3] is own["groups"]
            and attributes[4] is own["padding_mode"]
        ):
            call = call.next
    except RuntimeError:  # a tensor without strides
        return None
    return call


def _are_constant(numbers):
    """Whether it is a tuple of integers, as PyTorch's constructors leave it; attributes that are assigned may be a
    single one, for all axes, or a list, which may change."""
    return type(numbers) is tuple and all(type(number) is int for number in numbers)


def can_be_remembered(own, data, axes):
    """Whether a convolution's module decides by its attributes and the data alone."""
    return (
        own["padding_mode"] == "zeros"
        and _are_constant(own["stride"])
        and _are_constant(own["padding"])
        and _are_constant(own["dilation"])
        and type(own["groups"]) is int
        and is_plain(data, axes)
    )
