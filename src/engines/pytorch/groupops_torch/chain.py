"""A convolution with what follows it, in one call: its batch normalization, a sum with another tensor, an activation.

In evaluation a batch normalization is a factor and an addend for each channel. The factor goes into the
weights, the addend into the bias, and the activation is one of the library's. A call that is PyTorch's is
computed by PyTorch with these weights and this bias, and what is left of the chain follows. The weights
are folded and packed once, and again when one of the tensors that they were made of has changed.
"""

import torch
from torch import nn

from groupops_torch import binding, fold, layers
from groupops_torch.checks import ALWAYS, plainly_channels_last
from groupops_torch.modules import KINDS, kind_of
from groupops_torch.remembered import (
    Call, can_be_remembered, find, global_hooks, is_extraordinary, is_readable, is_tracing, makes_plain_tensors,
)

NORMS = {nn.Conv1d: nn.BatchNorm1d, nn.Conv2d: nn.BatchNorm2d, nn.Conv3d: nn.BatchNorm3d}

# The largest number of each type.
_LARGEST = {dtype: torch.finfo(dtype).max for dtype in ALWAYS}


def _numbers(dtype, *numbers):
    """The numbers; a ValueError where they are not those that PyTorch computes with: tensors, which may be written,
    and numbers that it refuses since they are out of its types' ranges."""
    for number in numbers:
        kind = type(number)
        if not (kind is float and abs(number) <= _LARGEST[dtype] or kind is int and abs(number) <= LARGEST_INTEGER):
            raise ValueError
    return numbers


def _clamp(of, dtype):
    return binding.CLAMP, *_numbers(dtype, of.min_val, of.max_val)


# The library's activation, as kind, alpha and beta (gops_activation), of a module; or a function of the module and the
# data's type that gives it.
ACTIVATIONS = {
    nn.ReLU: (binding.RELU, 0.0, 0.0),
    nn.ReLU6: _clamp,  # a Hardtanh, whose bounds may be assigned too
    nn.Hardtanh: _clamp,
    nn.LeakyReLU: lambda of, dtype: (binding.LEAKY_RELU, *_numbers(dtype, of.negative_slope), 0.0),
    nn.Sigmoid: (binding.SIGMOID, 0.0, 0.0),
    nn.Hardswish: (binding.HARD_SWISH, 0.0, 0.0),
    nn.SiLU: (binding.SWISH, 1.0, 0.0),
    nn.Hardsigmoid: (binding.HARD_SIGMOID, 1 / 6, 0.5),
}

# Larger integers are not those of the library's double.
LARGEST_INTEGER = 2**53

# The fewest elements of an output of PyTorch's whose normalization goes into the weights: comparing what those were
# made of takes 20 to 30 us, PyTorch's normalization 5 us and half a nanosecond for each element (Intel Xeon, Granite
# Rapids class).
MIN_FOLDED = 2**15

_ZEROS = {axes: (0,) * axes for axes in KINDS.values()}

_their_convolution = torch._convolution
_threads = torch.get_num_threads
_Parameter = nn.Parameter
_Tensor = torch.Tensor


class Chain:
    """The modules, and between the normalization and the activation `add`, a function of the sum so far and another
    tensor that PyTorch computes it by, or None."""

    def __init__(self, owner, conv, norm=None, add=None, activation=None):
        """`owner` is an Owner."""
        self.owner, self.conv, self.norm, self.add, self.activation = owner, conv, norm, add, activation
        self.modules = [module for module in (conv, norm, activation) if module is not None]
        self.kinds = [(module, type(module)) for module in self.modules]
        self.epilogue = ACTIVATIONS.get(type(activation))  # None where there is none
        self.axes = KINDS[kind_of(conv)]
        self.fold = None
        self.calls = None  # the first of those that are remembered
        self.small = None  # sizes and strides of the latest data that is not worth it

    def __call__(self, data, residual=None):
        is_small = self.small is not None and self._is_small(data)
        output = None if is_small else self._as_one(data, residual)
        if output is not None:
            return output
        output = self.conv(data)
        if not is_small:
            self._remember(data, output)
        if self.norm is not None:
            output = self.norm(output)
        if self.add is not None:
            output = self.add(output, residual)
        return output if self.activation is None else self.activation(output)

    def _finish(self, output, residual):
        """Sum and activation of what nothing else sees, in place where that gives the same."""
        if self.add is not None:
            if _is_like(residual, output, output.shape, output.stride()):
                output.add_(residual)
            else:
                output = self.add(output, residual)
        if type(self.activation) is nn.ReLU:
            return torch.relu_(output)
        return output if self.activation is None else self.activation(output)

    def _tensors(self, own):
        """The weights and the vectors of a fold, and epsilon; or None where they are not the modules' own."""
        parameters = own["_parameters"]
        weight, bias = parameters.get("weight"), parameters.get("bias", own)
        scale = shift = mean = variance = epsilon = None
        if self.norm is not None:
            own = self.norm.__dict__
            parameters, buffers, epsilon = own["_parameters"], own["_buffers"], own["eps"]
            scale, shift = parameters.get("weight", own), parameters.get("bias", own)
            mean, variance = buffers.get("running_mean"), buffers.get("running_var")
            if own["training"] or type(mean) is not _Tensor or type(variance) is not _Tensor:
                return None
        if (
            type(weight) is not _Parameter
            or bias is not None and type(bias) is not _Parameter
            or scale is not None and type(scale) is not _Parameter
            or shift is not None and type(shift) is not _Parameter
        ):
            return None
        return weight, (bias, scale, shift, mean, variance), epsilon

    def _may_be_one(self):
        """Whether the modules are of their classes, and nothing sees their calls one by one."""
        for module, kind in self.kinds:
            own = module.__dict__
            if (
                type(module) is not kind
                or own["_forward_hooks"]
                or own["_forward_pre_hooks"]
                or own["_backward_hooks"]
                or "forward" in own
            ):
                return False
        # any() takes longer, and each call asks.
        return not (global_hooks[0] or global_hooks[1] or global_hooks[2])

    def _is_small(self, data):
        """Whether the latest call that was not worth folding had such data."""
        try:
            return (
                type(data) is _Tensor  # not what torch.fx traces
                and not is_tracing()
                and self.small == (data.shape, data.stride())
            )
        except RuntimeError:  # a tensor without strides
            return False

    def _as_one(self, data, residual):
        """The output, or None where the modules are to be called one by one."""
        if self.owner.accuracy is None or is_extraordinary(data):
            return None
        own = self.conv.__dict__
        call = find(self.calls, type(self.conv), own, data)
        if call is None or "_conv_forward" in own or not is_readable(data) or not self._may_be_one():
            return None
        tensors = self._tensors(own)
        folded = None if tensors is None else self._fold(*tensors)
        if folded is None or folded.form != call.weight:
            return None
        if call.lists is None:
            return self._left(call, data, residual, folded, tensors[0])
        if call.threads != _threads() or call.accuracy != self.owner.accuracy:
            return None
        return self._served(call, data, residual, folded, tensors[0])

    def _left(self, call, data, residual, folded, weight):
        """As _as_one(), by PyTorch's convolution."""
        if folded.weight is None:
            if not makes_plain_tensors():
                return None
            folded.weight = folded.folded(weight)
        self.owner.counts["left to PyTorch"] += 1
        stride, padding, dilation, groups, _ = call.attributes
        output = _their_convolution(
            data, folded.weight, folded.bias, stride, padding, dilation, False, _ZEROS[self.axes], groups,
            False, False, False, False,
        )
        return self._finish(output, residual)

    def _served(self, call, data, residual, folded, weight):
        """As _as_one(), by the library."""
        whole = self.add is None or not call.converted and _is_like(residual, data, call.output_shape)
        try:
            layer = self._layer(call, data, folded, weight, whole)
            if not call.contiguous:
                data = layers.contiguous(data, call.converted)
            output = layer.run(data, call.shape, None, bias=folded.bias, residual=residual if whole else None)
        except (RuntimeError, ValueError):  # a refusal of the library or of _numbers(); or new tensors have no memory
            return None
        self.owner.counts["convolution"] += 1
        if call.converted:
            output = output.contiguous(memory_format=torch.channels_last)
        return output if whole else self._finish(output, residual)

    def _layer(self, call, data, folded, weight, whole):
        """The layer, with the activation if it is the `whole` chain."""
        activation = self.epilogue if whole else None
        if callable(activation):
            activation = activation(self.activation, data.dtype)
        made = call.made  # read once: another thread may replace it
        if made is None or made[1] is not folded or made[2] != activation:
            groups = call.attributes[3]
            key = call.lists, groups, call.threads, call.accuracy, activation
            layer = folded.layers.get(key)
            if layer is None:
                layer = layers.convolution(
                    data, folded.folded(weight), *call.lists[:3], False, call.lists[3], groups, call.accuracy,
                    activation,
                )
                folded.keep(key, layer)
            made = call.made = layer, folded, activation
        return made[0]

    def _fold(self, weight, vectors, epsilon):
        found = self.fold
        if found is None or not found.is_made_of(weight, vectors, epsilon):
            self.fold = None
            self._drop_layers()
            found = fold.make(weight, vectors, epsilon) if makes_plain_tensors() else None
            if found is None:
                return None
            if found.is_made_of(weight, vectors, epsilon):  # else they were written meanwhile
                self.fold = found
        return found if found.is_usable else None

    def _drop_layers(self):
        """Those of a former fold."""
        call = self.calls
        while call is not None:
            call.made = None
            call = call.next

    def _remember(self, data, output):
        """Decides for calls like this one, whose convolution has just been computed."""
        if is_extraordinary(data):
            return
        own = self.conv.__dict__
        tensors = self._tensors(own)
        if tensors is None:
            return
        known = find(self.calls, type(self.conv), own, data)
        now = _threads(), self.owner.accuracy, fold.form(tensors[0])
        if known is not None and (known.threads, known.accuracy, known.weight) == now:
            return
        if (
            self.owner.accuracy is None
            or data.dtype not in ALWAYS
            or not can_be_remembered(own, data, self.axes)
        ):
            return
        weight, bias = tensors[0], tensors[1][0]
        stride, padding, dilation, groups = own["stride"], own["padding"], own["dilation"], own["groups"]
        lists = self.owner.decide(data, weight, bias, stride, padding, dilation, False, _ZEROS[self.axes], groups)
        if lists is None and (self.norm is None or output.numel() < MIN_FOLDED):
            self.small = data.shape, data.stride()
            return
        call = Call(self.conv, data, lists, plainly_channels_last(data), self.owner.accuracy)
        call.output_shape = output.shape
        call.weight = fold.form(tensors[0])
        self.calls = call.followed_by(self.calls)


def _is_like(residual, data, shape, stride=None):
    """Whether it is a tensor of the data's type with this shape and these strides, of None a contiguous one."""
    return (
        type(residual) is _Tensor
        and residual.dtype is data.dtype
        and residual.shape == shape
        and residual.is_cpu
        and is_readable(residual)
        and (residual.is_contiguous() if stride is None else residual.stride() == stride)
    )


class Owner:
    """What chains share: decide(arguments of aten::convolution), which gives the lists of a call that the library
    serves, or None; the numbers of calls; and the accuracy of calls now, None while weights are packed at each."""

    def __init__(self, decide, counts):
        self.decide, self.counts = decide, counts
        self.accuracy = None


def split(modules, owner):
    """The modules, which are called one behind the other, with chains in the place of those that can be one call."""
    steps, at = [], 0
    while at < len(modules):
        end, norm, activation = at + 1, None, None
        kind = kind_of(modules[at])
        if kind is not None:
            if end < len(modules) and type(modules[end]) is NORMS[kind]:
                norm, end = modules[end], end + 1
            if end < len(modules) and type(modules[end]) in ACTIVATIONS:
                activation, end = modules[end], end + 1
        steps.append(modules[at] if end == at + 1 else Chain(owner, modules[at], norm, None, activation))
        at = end
    return steps
