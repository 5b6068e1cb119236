"""Models that fuse() is told of, and what they do that it must notice."""

from collections import OrderedDict

import torch
from torch import nn


class Block(nn.Module):
    """As ResNet's."""

    def __init__(self, c_in=6, c_out=10, inplace=True):
        super().__init__()
        self.conv1 = nn.Conv2d(c_in, c_out, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(c_out)
        self.relu = nn.ReLU(inplace)
        self.conv2 = nn.Conv2d(c_out, c_out, (3, 2), padding=(1, 1), groups=2)
        self.bn2 = nn.BatchNorm2d(c_out)
        self.aside = nn.Conv2d(c_in, c_out, (1, 2), padding=(0, 1))
        self.bn3 = nn.BatchNorm2d(c_out)
        self.scale = 1.0

    def forward(self, x):
        out = self.conv1(x)
        out = self.bn1(out)
        out = self.relu(out)
        out = self.conv2(out)
        out = self.bn2(out)
        out += self.bn3(self.aside(x))
        return self.relu(out) * self.scale


class Calls(nn.Module):
    """A convolution, and a forward that is given."""

    def __init__(self, forward, channels=10):
        super().__init__()
        self.conv = nn.Conv2d(6, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels)
        self.of = forward

    def forward(self, x):
        return self.of(self, x)


class Two(Calls):
    """Of two tensors."""

    def forward(self, x, other):
        return self.of(self, (x, other))


class Conv(nn.Conv2d):
    """As torchvision's video networks have them."""


class Inherits(Block):
    def __init__(self):
        super().__init__()
        self.conv1 = Conv(6, 10, 3, padding=1)


class Extends(Block):
    def forward(self, x):
        return super().forward(x) + 5


class Named(nn.Module):
    """Two blocks whose own forward torch.fx cannot follow, and an output that it would change."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(6, 10), Block(10, 7 + 1)])
        self.last = nn.Sequential(nn.Conv2d(8, 5, 1), nn.ReLU())

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
            if x.mean() > 1e9:
                break
        return OrderedDict(out=self.last(x))


class ListOrTensor(nn.Module):
    """What torch.fx follows is not what is done with a tensor."""

    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x):
        if isinstance(x, torch.Tensor):
            return self.block(x)
        return self.block(x) + 1


class Writes(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()
        self.size = None

    def forward(self, x):
        self.size = x.shape
        return self.block(x)


class Lists(nn.Module):
    """A container of modules that the forward calls one by one."""

    class Own(nn.ModuleList):
        pass

    def __init__(self, kind):
        super().__init__()
        self.layers = kind([nn.Conv2d(6, 10, 3, padding=1), nn.Conv2d(10, 10, (3, 2))])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return x


class Borrows(nn.Module):
    """Calls functions with what modules own."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(6, 10, 3, padding=1)
        self.called, self.uncalled = nn.Conv2d(10, 10, 3, padding=1), nn.Conv2d(10, 10, 3)
        self.norm = nn.BatchNorm2d(10)

    def forward(self, x):
        x = self.called(self.norm(self.first(x)).relu())
        x = nn.functional.conv2d(x, self.called.weight, self.called.bias)
        return nn.functional.conv2d(x, self.uncalled.weight, None, 1, self.uncalled.padding)


class Buffered(Calls):
    """A number is computed of buffers alone: one of its own, and one of a module that it calls."""

    def __init__(self):
        super().__init__(None)
        self.register_buffer("factor", torch.tensor(1.5))

    def forward(self, x):
        return self.norm(self.conv(x)).relu() * (self.factor * self.norm.running_mean[0]).item()


def uneven(model):
    """The model for evaluation, as if it had seen values, as uneven as can be."""
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.running_mean.uniform_(-1, 1)
            module.running_var.uniform_(0.2, 3)
            if module.affine:
                nn.init.uniform_(module.weight, -2, 2)
                nn.init.uniform_(module.bias)
    return model.eval()
