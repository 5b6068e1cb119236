"""PyTorch's functions that ours replace or stand for, and whether somebody else has replaced one of them."""

import weakref

from torch import nn
from torch.nn import functional as F

_ACTIVATIONS = {
    nn.ReLU: "relu", nn.ReLU6: "hardtanh", nn.Hardtanh: "hardtanh", nn.LeakyReLU: "leaky_relu", nn.Sigmoid: None,
    nn.Hardswish: "hardswish", nn.SiLU: "silu", nn.Hardsigmoid: "hardsigmoid",
}


def _names():
    """Where they are: pairs of a class or module and a name."""
    yield from ((nn.Module, "__call__"), (nn.Module, "_call_impl"), (nn.Module, "__getattr__"))
    yield from ((nn.Sequential, "forward"), (nn.Sequential, "__iter__"), (F, "batch_norm"))
    for conv, norm, function in (
        (nn.Conv1d, nn.BatchNorm1d, "conv1d"),
        (nn.Conv2d, nn.BatchNorm2d, "conv2d"),
        (nn.Conv3d, nn.BatchNorm3d, "conv3d"),
    ):
        yield from ((conv, "forward"), (conv, "_conv_forward"), (F, function))
        yield from ((norm, "forward"), (norm, "_check_input_dim"))
    for kind, function in _ACTIVATIONS.items():
        yield kind, "forward"
        if function is not None:
            yield F, function


# As they were when this was imported.
_originals = [(where, name, getattr(where, name)) for where, name in _names()]

_ours = weakref.WeakKeyDictionary()  # by a function of ours: the one that it replaces


def replacing(theirs, ours):
    """Notes that `ours` takes the place of `theirs`; returns it."""
    _ours[ours] = theirs
    return ours


def original(function):
    """What a function that may be ours replaces."""
    while function in _ours:
        function = _ours[function]
    return function


def are_theirs():
    """Whether all of them are as they were, but for those that ours replace."""
    return all(original(getattr(where, name)) is function for where, name, function in _originals)
