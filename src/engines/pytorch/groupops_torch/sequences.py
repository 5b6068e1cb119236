"""The forward of nn.Sequential while enabled() is open: a convolution, the batch normalization behind it and the
activation behind that are one call.

In evaluation a batch normalization is a factor and an addend for each channel. The factor goes into the
weights, the addend into the bias, and the activation is one of the library's. A call that is PyTorch's is
computed by PyTorch with these weights and this bias, and the module of the activation follows. The weights
are folded and packed once, and again when one of the tensors that they were made of has changed.
"""

import ctypes
import functools
import weakref

import torch
from torch import nn
from torch.nn.modules import module as _of_modules

from groupops_torch import binding, layers
from groupops_torch.checks import ALWAYS, are_dense, plainly_channels_last
from groupops_torch.kept import Entry
from groupops_torch.modules import KINDS
from groupops_torch.remembered import Call, can_be_remembered, find, is_extraordinary, is_readable

_NORMS = {nn.Conv1d: nn.BatchNorm1d, nn.Conv2d: nn.BatchNorm2d, nn.Conv3d: nn.BatchNorm3d}

# The library's activation, as kind, alpha and beta (gops_activation), of a module.
_ACTIVATIONS = {
    nn.ReLU: lambda of: (1, 0.0, 0.0),
    nn.ReLU6: lambda of: (2, 0.0, 6.0),
    nn.Hardtanh: lambda of: (2, of.min_val, of.max_val),
    nn.LeakyReLU: lambda of: (3, of.negative_slope, 0.0),
    nn.Sigmoid: lambda of: (4, 0.0, 0.0),
    nn.Hardswish: lambda of: (6, 0.0, 0.0),
    nn.SiLU: lambda of: (7, 1.0, 0.0),
    nn.Hardsigmoid: lambda of: (11, 1 / 6, 0.5),
}
_hooks = (
    _of_modules._global_backward_hooks,
    _of_modules._global_forward_hooks,
    _of_modules._global_forward_pre_hooks,
)

_ZEROS = {axes: (0,) * axes for axes in KINDS.values()}

# What is folded must be computed as exactly as what it replaces: no factor may push weights out of the range of
# normal numbers.
_LEAST_FACTOR, _LARGEST_FACTOR = 2.0**-40, 2.0**40

_their_convolution = torch._convolution
_threads = torch.get_num_threads
_Parameter = nn.Parameter


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
            and self.seen == self.read()
        )


class _Fold:
    """The factors and the bias of a normalization behind a convolution, and the state of the weights and of
    `vectors`: the bias of the convolution, the normalization's weight, bias, means and variances."""

    def __init__(self, weight, vectors, epsilon):
        self.epsilon = epsilon
        self.entry = Entry(weight)
        self.states = [None if t is None else _Vector(t) for t in vectors]
        self.layers = {}
        self.weight = None  # as PyTorch gets it
        bias, scale, shift, mean, variance = (None if t is None else t.detach() for t in vectors)
        self.factors, self.bias = None, bias
        if variance is not None:
            self.factors = (variance.double() + epsilon).rsqrt() * (1.0 if scale is None else scale.double())
            addend = ((0.0 if bias is None else bias.double()) - mean.double()) * self.factors
            self.bias = (addend if shift is None else addend + shift.double()).to(mean.dtype)

    def is_usable(self):
        if self.factors is None:
            return True
        sizes = self.factors.abs()
        fit = (sizes == 0) | (sizes >= _LEAST_FACTOR) & (sizes <= _LARGEST_FACTOR)
        return bool(fit.all()) and bool(self.bias.isfinite().all())

    def is_made_of(self, weight, vectors, epsilon):
        for state, t in zip(self.states, vectors):
            if state is None or t is None:
                if state is not t:
                    return False
            elif not state.is_state_of(t):
                return False
        return self.epsilon == epsilon and self.entry.weight() is weight and self.entry.is_valid_for(weight)

    def folded(self, weight):
        weight = weight.detach()
        if self.factors is None:
            return weight
        return (weight.double() * self.factors.view(-1, *(1,) * (weight.dim() - 1))).to(weight.dtype)


class _Chain:
    """A convolution with what follows it."""

    def __init__(self, modules, owner):
        self.modules, self.owner = modules, owner
        self.norm = modules[1] if type(modules[1]) in _NORMS.values() else None
        self.activation = modules[-1] if type(modules[-1]) in _ACTIVATIONS else None
        self.axes = KINDS[type(modules[0])]
        self.fold = None
        self.calls = None  # the first of those that are remembered

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
            if own["training"] or type(mean) is not torch.Tensor or type(variance) is not torch.Tensor:
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
        """Whether nothing sees the calls of the modules one by one."""
        for module in self.modules:
            own = module.__dict__
            if own["_forward_hooks"] or own["_forward_pre_hooks"] or own["_backward_hooks"] or "forward" in own:
                return False
        return not (_hooks[0] or _hooks[1] or _hooks[2])

    def run(self, data):
        """The output, or None where the modules are to be called one by one."""
        if is_extraordinary(data):
            return None
        own = self.modules[0].__dict__
        call = find(self.calls, own, data)
        if call is None or call.lists is None and self.norm is None or not self._may_be_one():
            return None
        tensors = self._tensors(own)
        fold = None if tensors is None else self._fold(*tensors)
        if fold is None:
            return None
        if call.lists is None:
            return self._left(call, data, fold, tensors[0])
        if call.threads != _threads() or call.accuracy != self.owner.accuracy or not is_readable(data):
            return None
        try:
            layer = self._layer(call, data, fold, tensors[0])
            output = layer.run(layers.contiguous(data, call.converted), call.shape, None, bias=fold.bias)
        except binding.GroupopsError:
            return None
        self.owner.counts["convolution"] += 1
        return output.contiguous(memory_format=torch.channels_last) if call.converted else output

    def _left(self, call, data, fold, weight):
        """As run(), by PyTorch's convolution."""
        if fold.weight is None:
            fold.weight = fold.folded(weight)
        self.owner.counts["left to PyTorch"] += 1
        stride, padding, dilation, groups, _ = call.attributes
        output = _their_convolution(
            data, fold.weight, fold.bias, stride, padding, dilation, False, _ZEROS[self.axes], groups,
            False, False, False, False,
        )
        return output if self.activation is None else self.activation(output)

    def _layer(self, call, data, fold, weight):
        activation = None if self.activation is None else _ACTIVATIONS[type(self.activation)](self.activation)
        if call.layer is None or call.fold is not fold or call.activation != activation:
            groups = call.attributes[3]
            key = call.lists, groups, call.threads, call.accuracy, activation
            call.layer = fold.layers.get(key)
            if call.layer is None:
                call.layer = fold.layers[key] = layers.convolution(
                    data, fold.folded(weight), *call.lists[:3], False, call.lists[3], groups, call.accuracy, activation
                )
            call.fold, call.activation = fold, activation
        return call.layer

    def _fold(self, weight, vectors, epsilon):
        fold = self.fold
        if fold is not None and fold.is_made_of(weight, vectors, epsilon):
            return fold
        self.fold = None
        tensors = [t for t in (weight, *vectors) if t is not None]
        if not are_dense(*tensors) or any(t.is_inference() for t in tensors):
            return None
        if not all(t.is_contiguous() for t in tensors[1:]):
            return None
        fold = _Fold(weight, vectors, epsilon)
        if not fold.is_usable():
            return None
        if fold.is_made_of(weight, vectors, epsilon):  # else they were written meanwhile
            self.fold = fold
        return fold

    def remember(self, data):
        """Decides for calls like this one, which the modules have just computed."""
        if is_extraordinary(data):
            return
        own = self.modules[0].__dict__
        known = find(self.calls, own, data)
        if known is not None and known.threads == _threads() and known.accuracy == self.owner.accuracy:
            return
        tensors = self._tensors(own)
        if (
            tensors is None
            or self.owner.accuracy is None
            or data.dtype not in ALWAYS
            or not can_be_remembered(own, data, self.axes)
        ):
            return
        weight, bias = tensors[0], tensors[1][0]
        stride, padding, dilation, groups = own["stride"], own["padding"], own["dilation"], own["groups"]
        lists = self.owner.decide(data, weight, bias, stride, padding, dilation, False, _ZEROS[self.axes], groups)
        call = Call(own, data, lists, plainly_channels_last(data), self.owner.accuracy)
        self.calls = call.followed_by(self.calls)


def _split(modules, owner):
    """The modules, with chains in the place of those that can be one call."""
    steps, at = [], 0
    while at < len(modules):
        end = at + 1
        if type(modules[at]) in KINDS:
            for kinds in ((_NORMS[type(modules[at])],), _ACTIVATIONS):
                end += end < len(modules) and type(modules[end]) in kinds
        steps.append(modules[at] if end == at + 1 else _Chain(modules[at:end], owner))
        at = end
    return steps


class Sequences:
    """The forward, and what is remembered for each sequence."""

    def __init__(self, decide, counts):
        """decide(arguments of aten::convolution) gives the lists of a call that the library serves, or None.
        `counts` are the numbers of calls."""
        self.decide, self.counts = decide, counts
        self.accuracy = None  # of calls now; None while weights are packed at each call
        # By the id of a sequence's dictionary, which is held, so that no other one gets its id: the
        # dictionary, the modules, and these with chains.
        self._known = {}
        self._references = {}  # by the same id, to the sequence
        self._theirs = None  # PyTorch's forward

    def open(self):
        self._theirs = nn.Sequential.forward
        nn.Sequential.forward = self._forward(self._theirs)

    def close(self):
        nn.Sequential.forward = self._theirs  # what is remembered holds for the next enabled() too

    def forget(self):
        self._known.clear()
        self._references.clear()

    def _forward(self, theirs):
        known = self._known

        # TorchScript reads the source of what is wrapped.
        @functools.wraps(theirs)
        def forward(sequence, input):
            own = sequence.__dict__
            modules = (*own["_modules"].values(),)
            found = known.get(id(own))
            if found is None or found[1] != modules:
                found = self._look_at(sequence, modules)
            if found[2] is None:
                return theirs(sequence, input)
            for step in found[2]:
                if type(step) is not _Chain:
                    input = step(input)
                    continue
                output = step.run(input)
                if output is None:
                    output = input
                    for module in step.modules:
                        output = module(output)
                    step.remember(input)
                input = output
            return input

        return forward

    def _look_at(self, sequence, modules):
        own = sequence.__dict__
        steps = _split(modules, self)
        if len(steps) == len(modules):
            steps = None
        self._references[id(own)] = weakref.ref(sequence, functools.partial(self._drop, id(own)))
        self._known[id(own)] = found = own, modules, steps
        return found

    def _drop(self, number, _):
        self._known.pop(number, None)
        self._references.pop(number, None)
