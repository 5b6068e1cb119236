"""The forward of PyTorch's modules of convolutions, while enabled() is open.

A call that PyTorch's dispatcher brings to an operator written in Python takes 3 us more than one of PyTorch's
own, and 10 us where Python finds the caches full of the layer's data. So what override.py decided for a
module and an input is remembered here, and the next such call goes from the module straight to the library,
or straight to PyTorch's operator beneath the overridden one. A call that is PyTorch's asks as few questions as
can be, since the code and the data of each are out of the caches too; the shorter way makes up for them.

All that is out of the ordinary takes PyTorch's own forward and so comes to override.py: gradients, autocast,
modes, subclasses of tensors, weights that are not the module's parameters.
"""

import functools
import weakref

import torch

from groupops_torch.checks import ALWAYS, plainly_channels_last
from groupops_torch.layers import contiguous
from groupops_torch.originals import replacing
from groupops_torch.remembered import (
    Call, autocast, can_be_remembered, dispatch_modes, find, function_modes, gradients, is_extraordinary, is_readable,
    is_tracing, transforms,
)

# PyTorch's classes, and how many axes their images have.
KINDS = {torch.nn.Conv1d: 1, torch.nn.Conv2d: 2, torch.nn.Conv3d: 3}

_Parameter = torch.nn.Parameter
_Tensor = torch.Tensor
_channels_last = torch.channels_last
_their_convolution = torch._convolution
_threads = torch.get_num_threads


# What a call reads of a module's dictionary. An heir that defines one of these may read something else.
_READ = ("weight", "bias", "stride", "padding", "dilation", "groups", "padding_mode")


def kind_of(module):
    """The class of PyTorch's whose forward a convolution has, its own or an heir; None for other modules."""
    own = type(module)
    for kind in KINDS:
        if issubclass(own, kind):
            as_theirs = own.forward is kind.forward and own.__call__ is torch.nn.Module.__call__
            return kind if as_theirs and _is_as_it_reads(module, kind) else None
    return None


def _is_as_it_reads(module, kind):
    """Whether what PyTorch's forward reads of a convolution is what the module's dictionary has, and computes with it
    as its class. (stateless.functional_call gives modules a class with other parameters for a call.)"""
    own = type(module)
    return (
        own._conv_forward is kind._conv_forward
        and "_conv_forward" not in module.__dict__
        and own.__getattribute__ is object.__getattribute__
        and own.__getattr__ is torch.nn.Module.__getattr__
        and not any(hasattr(own, name) for name in _READ)
    )


def _serve(call, data, weight, bias, accuracy):
    """The output, or None where something has changed or the library refuses."""
    entry = call.entry
    layer = entry.layer
    if not (
        layer is not None
        and entry.weight() is weight
        and call.threads == _threads()
        and call.accuracy == accuracy
        and is_readable(data)
        and (bias is None or _fits(bias, weight))
        and entry.is_valid_for(weight)
    ):
        return None
    if not call.contiguous:
        data = contiguous(data, call.converted)
    try:
        output = layer.run(data, call.shape, None, bias=bias)
    except RuntimeError:  # a refusal of the library, or tensors that are made now have no memory
        return None
    return output.contiguous(memory_format=_channels_last) if call.converted else output


def _fits(bias, weight):
    """Whether the bias is what the library can read, as it was when the call was decided."""
    return (
        bias.dtype is weight.dtype
        and bias.shape == weight.shape[:1]
        and bias.is_contiguous()
        and is_readable(bias)
    )


def _plain_parameters(own):
    """The weight and the bias, or None where they are not the module's own parameters."""
    parameters = own["_parameters"]
    weight, bias = parameters.get("weight"), parameters.get("bias", own)
    if type(weight) is _Parameter and (bias is None or type(bias) is _Parameter):
        return weight, bias
    return None


class Modules:
    """The forwards, and what is remembered for each module."""

    def __init__(self, decide, entry_of, counts):
        """decide(arguments of aten::convolution) gives the lists of a call that override.py serves, or None;
        entry_of(weight, lists, groups) the entry of the weights that it packed, or None. `counts` are the
        numbers of calls."""
        self._decide = decide
        self._entry_of = entry_of
        self._counts = counts
        # By the id of a module. It is not held, since its hooks or attributes may lead back to what it is a part of,
        # and is dropped before another module can get its id.
        self._known = {}  # the first of its calls
        # By the same id: class, sizes and strides of the latest of these that is PyTorch's, and the type of the bias,
        # which not each of PyTorch's kernels asks for.
        self._left = {}
        self._references = {}  # by the same id, to the module
        self._forwards = [(kind, kind.forward, self._forward(kind)) for kind in KINDS]  # PyTorch's, and ours
        self.accuracy = None  # of calls now; None while nothing is remembered

    def open(self):
        for kind, _, ours in self._forwards:
            kind.forward = ours

    def close(self):
        """What is remembered holds for the next enabled() too."""
        for kind, theirs, ours in self._forwards:
            if kind.forward is ours:  # else somebody else has replaced it
                kind.forward = theirs

    def forget(self):
        self._known.clear()
        self._left.clear()
        self._references.clear()

    def _forward(self, kind):
        theirs, zeros = kind.forward, (0,) * KINDS[kind]
        known, left, counts = self._known, self._left, self._counts

        # TorchScript reads the source of what is wrapped.
        @functools.wraps(theirs)
        def forward(module, input):
            own = module.__dict__
            if "_conv_forward" in own:
                return theirs(module, input)
            as_left = left.get(id(module))
            try:
                if (
                    as_left is not None
                    and type(input) is _Tensor
                    and own["padding_mode"] == "zeros"
                    and not (gradients() or autocast() or function_modes() or dispatch_modes())
                    and not (is_tracing() or transforms())
                ):
                    weight, bias = _plain_parameters(own)
                    if as_left == (type(module), input.shape, input.stride(), None if bias is None else bias.dtype):
                        output = _their_convolution(
                            input, weight, bias, own["stride"], own["padding"], own["dilation"],
                            False, zeros, own["groups"], False, False, False, False,
                        )
                        counts["left to PyTorch"] += 1
                        return output
            except (KeyError, TypeError, RuntimeError):  # PyTorch's forward knows what to do, or how to say it
                return theirs(module, input)
            if is_extraordinary(input):
                return theirs(module, input)
            call = find(known.get(id(module)), type(module), own, input)
            parameters = None if call is None or call.entry is None else _plain_parameters(own)
            if parameters is not None:
                output = _serve(call, input, *parameters, self.accuracy)
                if output is not None:
                    counts["convolution"] += 1
                    return output
            output = theirs(module, input)
            if _is_as_it_reads(module, kind):
                self._remember(module, input, zeros)
            return output

        return replacing(theirs, forward)

    def _remember(self, module, data, zeros):
        """Remembers what override.py did with a call, if it would do the same again."""
        own, accuracy = module.__dict__, self.accuracy
        parameters = _plain_parameters(own)
        if parameters is None or accuracy is None or not can_be_remembered(own, data, len(zeros)):
            return
        stride, padding, dilation, groups = own["stride"], own["padding"], own["dilation"], own["groups"]
        lists = self._decide(data, *parameters, stride, padding, dilation, False, zeros, groups)
        call = Call(module, data, lists, plainly_channels_last(data), accuracy)
        if lists is not None:
            call.entry = self._entry_of(parameters[0], lists, groups)
            if call.entry is None or data.dtype not in ALWAYS:
                return
            if self._left.get(id(module), ())[:3] == (call.kind, call.shape, call.stride):
                self._left.pop(id(module), None)
        else:
            bias = parameters[1]
            self._left[id(module)] = call.kind, call.shape, call.stride, None if bias is None else bias.dtype
        if id(module) not in self._references:
            self._references[id(module)] = weakref.ref(module, functools.partial(self._drop, id(module)))
        self._known[id(module)] = call.followed_by(self._known.get(id(module)))

    def _drop(self, number, _):
        self._known.pop(number, None)
        self._left.pop(number, None)
        self._references.pop(number, None)
