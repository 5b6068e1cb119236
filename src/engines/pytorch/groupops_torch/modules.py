"""The forward of PyTorch's modules of convolutions, while enabled() is open.

A call that PyTorch's dispatcher brings to an operator written in Python takes 3 us more than one of PyTorch's
own, and 10 us where Python finds the caches full of the layer's data. So what override.py decided for a
module and an input of some sizes, strides and type is remembered here, and the next such call goes from the
module straight to the library, or straight to PyTorch's operator beneath the overridden one, which makes up
for the questions. These are few, and what they read is kept small, since caches are cold between layers.

All that is out of the ordinary takes PyTorch's own forward and so comes to override.py: gradients, autocast,
modes, subclasses of tensors, weights that are not the module's parameters.
"""

import functools
import weakref

import torch

from groupops_torch import binding
from groupops_torch.checks import ALWAYS

# How many calls are remembered for a module.
CALLS = 8

_KINDS = {torch.nn.Conv1d: 1, torch.nn.Conv2d: 2, torch.nn.Conv3d: 3}

_Tensor = torch.Tensor
_Parameter = torch.nn.Parameter
_channels_last = torch.channels_last
_their_convolution = torch._convolution
_gradients = torch.is_grad_enabled
_autocast = torch.is_autocast_cpu_enabled
_function_modes = torch._C._len_torch_function_stack
_dispatch_modes = torch._C._len_torch_dispatch_stack
_is_tracing = torch._C._is_tracing
_threads = torch.get_num_threads

# The dispatch keys of tensors that lie in memory as their sizes and strides say.
_PLAIN = {str(torch._C._dispatch_keys(torch.empty(1)))}
with torch.inference_mode():
    _PLAIN.add(str(torch._C._dispatch_keys(torch.empty(1))))


class _Call:
    """What was decided for a module and an input: with an entry of packed weights (kept.py) the library
    serves the call, without one it is PyTorch's, for all sizes of these strides."""

    __slots__ = (
        "stride", "dtype", "attributes", "next", "entry", "shape", "accuracy", "threads", "contiguous", "converted",
        "own",
    )

    def serve(self, data, weight, bias, accuracy):
        """The output, or None where something has changed or the library refuses."""
        entry = self.entry
        layer = entry.layer
        if not (
            layer is not None
            and not _is_tracing()
            and entry.weight() is weight
            and self.threads == _threads()
            and self.accuracy == accuracy
            and _is_readable(data)
            and (bias is None or _fits(bias, weight))
            and entry.is_valid_for(weight)
        ):
            return None
        if not self.contiguous:
            data = data.contiguous()
        try:
            output = layer.run(data, self.shape, None, bias=bias)
        except binding.GroupopsError:
            return None
        return output.contiguous(memory_format=_channels_last) if self.converted else output


def _is_readable(data):
    """Whether the elements lie at an address, as they are, as they did when the call was decided."""
    try:
        address = data.data_ptr()
    except RuntimeError:  # a tensor of vmap
        return False
    return address != 0 and address % data.element_size() == 0 and not data.is_neg()


def _fits(bias, weight):
    """Whether the bias is what the library can read, as it was when the call was decided."""
    return (
        bias.dtype is weight.dtype
        and bias.shape == weight.shape[:1]
        and bias.is_contiguous()
        and _is_readable(bias)
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

    def __init__(self, decide, counts):
        """decide(arguments of aten::convolution) says what override.py does with such a call: None where it
        is left to PyTorch, else the entry of the packed weights, or None if they are not kept, and whether
        data and output are converted. `counts` are the numbers of calls."""
        self._decide = decide
        self._counts = counts
        # By the id of a module's dictionary: its first call, which holds the dictionary, so that no other
        # one gets its id.
        self._known = {}
        self._references = {}  # by the same id, to the module
        self._theirs = {}  # by class: PyTorch's forward
        self.accuracy = None  # of calls now; None while weights are packed at each call

    def open(self):
        for kind in _KINDS:
            self._theirs[kind] = kind.forward
            kind.forward = self._forward(kind)

    def close(self):
        for kind, theirs in self._theirs.items():
            kind.forward = theirs
        self._theirs.clear()
        self._known.clear()
        self._references.clear()

    def _forward(self, kind):
        theirs, zeros = kind.forward, (0,) * _KINDS[kind]
        known, counts = self._known, self._counts

        # TorchScript reads the source of what is wrapped.
        @functools.wraps(theirs)
        def forward(module, input):
            if type(input) is not _Tensor or _gradients() or _autocast() or _function_modes() or _dispatch_modes():
                return theirs(module, input)
            own = module.__dict__
            call = known.get(id(own))
            try:
                while call is not None and not (
                    call.stride == input.stride()
                    and call.dtype is input.dtype
                    and call.attributes
                    == (own["stride"], own["padding"], own["dilation"], own["groups"], own["padding_mode"])
                    and (call.shape is None or call.shape == input.shape)
                ):
                    call = call.next
            except RuntimeError:  # it has no strides
                call = None
            parameters = None if call is None else _plain_parameters(own)
            if parameters is not None:
                if call.entry is None:
                    counts["left to PyTorch"] += 1
                    stride, padding, dilation, groups, _ = call.attributes
                    return _their_convolution(
                        input, *parameters, stride, padding, dilation, False, zeros, groups, False, False, False, False
                    )
                output = call.serve(input, *parameters, self.accuracy)
                if output is not None:
                    counts["convolution"] += 1
                    return output
            output = theirs(module, input)
            if type(module)._conv_forward is kind._conv_forward:
                self._remember(module, input, zeros)
            return output

        return forward

    def _remember(self, module, data, zeros):
        """Remembers what override.py did with a call, if it would do the same again."""
        own, accuracy = module.__dict__, self.accuracy
        parameters = _plain_parameters(own)
        if (
            parameters is None
            or accuracy is None
            or own["padding_mode"] != "zeros"
            or not isinstance(own["padding"], tuple)
            or data.is_complex()
            or data.dim() != len(zeros) + 2
            or str(torch._C._dispatch_keys(data)) not in _PLAIN
            or _is_tracing()
        ):
            return
        attributes = own["stride"], own["padding"], own["dilation"], own["groups"], own["padding_mode"]
        decided = self._decide(data, *parameters, *attributes[:3], False, zeros, attributes[3])
        if decided is not None and (decided[0] is None or data.dtype not in ALWAYS):
            return
        call = _Call()
        call.own = own
        call.stride, call.dtype, call.attributes = data.stride(), data.dtype, attributes
        call.entry, call.converted = decided or (None, False)
        call.shape = data.shape if call.entry else None
        call.accuracy, call.threads, call.contiguous = accuracy, _threads(), data.is_contiguous()
        if id(own) not in self._references:
            self._references[id(own)] = weakref.ref(module, functools.partial(self._drop, id(own)))
        self._known[id(own)] = self._before_others(call)

    def _before_others(self, call):
        """The call, followed by those remembered before for other inputs."""
        others, other = [], self._known.get(id(call.own))
        while other is not None:
            if (other.stride, other.dtype, other.shape) != (call.stride, call.dtype, call.shape):
                others.append(other)
            other = other.next
        for one, following in zip([call, *others], [*others[: CALLS - 1], None]):
            one.next = following
        return call

    def _drop(self, number, _):
        self._known.pop(number, None)
        self._references.pop(number, None)
