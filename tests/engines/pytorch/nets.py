"""The networks that the tests run."""

import torch
from torch import nn


class _Block(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.norm = nn.GroupNorm(4, c_in)
        self.conv = nn.Conv2d(c_in, c_out, 3, padding=1, groups=2)

    def forward(self, x):
        return self.conv(nn.functional.silu(self.norm(x)))


class UNet(nn.Module):
    """Down twice by strides, up twice by transposed convolutions, with skips and group norms."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 24, 3, padding=1)
        self.down1 = nn.Sequential(_Block(24, 24), nn.Conv2d(24, 48, 3, stride=2, padding=1))
        self.down2 = nn.Sequential(_Block(48, 48), nn.Conv2d(48, 96, 3, stride=2, padding=1))
        self.middle = _Block(96, 96)
        self.up2 = nn.ConvTranspose2d(96, 48, 2, stride=2)
        self.join2 = _Block(96, 48)
        self.up1 = nn.ConvTranspose2d(48, 24, 3, stride=2, padding=1, output_padding=1, groups=2)
        self.join1 = _Block(48, 24)
        self.last = nn.Conv2d(24, 5, 1)

    def forward(self, x):
        x = self.first(x)
        y = self.down1(x)
        z = self.middle(self.down2(y))
        y = self.join2(torch.cat([self.up2(z), y], 1))
        return self.last(self.join1(torch.cat([self.up1(y), x], 1)))


def _keep_signals_up(model):
    """Lets the convolutions decide the output. As torchvision fills them, batch normalizations
    that have seen no batch let the signal die out layer by layer, and ConvNeXt's blocks add
    1e-6 of themselves: what is left is the last layer's bias, or the stem."""
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = 1.0  # the statistics of the one batch
        if hasattr(module, "layer_scale"):
            nn.init.ones_(module.layer_scale)
    with torch.no_grad():
        model.train()(torch.randn(8, 3, 96, 96))
    return model.eval()


def build(name):
    """A network of torchvision by its name, or `unet`; random weights, for inference."""
    torch.manual_seed(20261121)
    if name == "unet":
        return UNet().eval()
    import torchvision

    return _keep_signals_up(getattr(torchvision.models, name)())
