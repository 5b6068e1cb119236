#!/usr/bin/python3
"""export_networks.py FOLDER NAME...: writes networks of torchvision with random weights as ONNX.

As one exports them: FOLDER/NAME-OPSET.onnx, batch 1, input "x", output "y"; with another --batch or
--side the file's name has the input's shape in front of the opset, with --open, which leaves the batch
open, that word. Files that are there are kept.
Segmentation and video networks too; unet_groupnorm is this file's own. A line for each file: name, path
and the input's shape.
"""

import argparse
import os
import pathlib
import warnings

import torch
import torchvision

SIDES = {"inception_v3": 299, "unet_groupnorm": 128}
USUAL_SIDE, USUAL_SIDE_OF_VIDEO, FRAMES = 224, 112, 16


SEGMENTATION = torchvision.models.list_models(torchvision.models.segmentation)
VIDEO = torchvision.models.list_models(torchvision.models.video)


class Segmented(torch.nn.Module):
    """A segmentation network's main output."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        return self.network(x)["out"]


class Double(torch.nn.Sequential):
    """Two convolutions, each with group normalization and ReLU."""

    def __init__(self, channels_in, channels_out, groups=8):
        layers = []
        for channels in (channels_in, channels_out):
            layers += [torch.nn.Conv2d(channels, channels_out, 3, padding=1, bias=False),
                       torch.nn.GroupNorm(groups, channels_out), torch.nn.ReLU(inplace=True)]
        super().__init__(*layers)


class UNet(torch.nn.Module):
    """Ronneberger et al. 2015, with 32 to 512 channels and group normalization."""

    def __init__(self, widths=(32, 64, 128, 256, 512)):
        super().__init__()
        before = (3, *widths)
        self.down = torch.nn.ModuleList(map(Double, before, widths))
        self.up = torch.nn.ModuleList(
            torch.nn.ConvTranspose2d(2 * width, width, 2, stride=2) for width in widths[:-1])
        self.join = torch.nn.ModuleList(Double(2 * width, width) for width in widths[:-1])
        self.head = torch.nn.Conv2d(widths[0], 2, 1)

    def forward(self, x):
        kept = []
        for number, level in enumerate(self.down):
            x = level(torch.nn.functional.max_pool2d(x, 2) if number else x)
            kept.append(x)
        for level in reversed(range(len(self.up))):
            x = self.join[level](torch.cat([kept[level], self.up[level](x)], dim=1))
        return self.head(x)


def build(name):
    if name == "unet_groupnorm":
        return UNet()
    extra = {"init_weights": True} if name in ("googlenet", "inception_v3") else {}
    extra |= {"weights_backbone": None} if name in SEGMENTATION else {}
    network = torchvision.models.get_model(name, weights=None, **extra)
    return Segmented(network) if name in SEGMENTATION else network


def input_shape(name, batch, side):
    if name in VIDEO:
        side = side or USUAL_SIDE_OF_VIDEO
        return batch, 3, FRAMES, side, side
    side = side or SIDES.get(name, USUAL_SIDE)
    return batch, 3, side, side


def randomize(network):
    """Moments other than 0 and 1, so that batch normalization does something."""
    for layer in network.modules():
        if isinstance(layer, (torch.nn.BatchNorm2d, torch.nn.BatchNorm3d)):
            layer.running_mean.uniform_(-0.2, 0.2)
            layer.running_var.uniform_(0.7, 1.5)


def export(name, path, shape, opset, is_open):
    torch.manual_seed(1)
    network = build(name).eval()
    randomize(network)
    temporary = path.with_suffix(".new")
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(network, torch.zeros(shape), str(temporary), opset_version=opset,
                          input_names=["x"], output_names=["y"],
                          dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}} if is_open else None)
    os.replace(temporary, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--opset", type=int, default=13)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--open", action="store_true", help="the model takes a batch of any size")
    parser.add_argument("--side", type=int, help="of the input; without it the network's usual one")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.names:
        shape = input_shape(name, options.batch, options.side)
        usual = shape == input_shape(name, 1, None)
        middle = "" if usual else "-" + "x".join(map(str, shape))
        middle += "-open" if options.open else ""
        path = options.folder / f"{name}{middle}-{options.opset}.onnx"
        if not path.exists():
            export(name, path, shape, options.opset, options.open)
        print(name + middle, path, ",".join(map(str, shape)), flush=True)


if __name__ == "__main__":
    main()
