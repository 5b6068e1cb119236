"""Times each layer of a network with and without groupops, in turns.

    python3 -m groupops_torch.bench resnext50_32x4d [threads] [image size]

A layer is a module that is a convolution or a group normalization; its time is that of the module
alone, on the tensor that it gets in the network, the least of some rounds. The network's own time is
measured the same way. Ratios are PyTorch's time over ours.
"""

import sys
import time
from math import exp, log

import torch

import groupops_torch

ROUNDS = 15
LAYERS = (
    torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d,
    torch.nn.ConvTranspose1d, torch.nn.ConvTranspose2d, torch.nn.ConvTranspose3d,
    torch.nn.GroupNorm,
)


def _once(run):
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def compare(run, rounds=ROUNDS):
    """The least seconds of a call without and with groupops, measured in turns."""
    run()
    with groupops_torch.enabled():
        run()
    without, within = [], []
    for _ in range(rounds):
        without.append(_once(run))
        with groupops_torch.enabled():
            run()  # the first call after the switch fills the caches with our packed weights
            within.append(_once(run))
        run()
    return min(without), min(within)


def _inputs(model, data):
    """The tensor that each layer gets."""
    seen = {}
    hooks = [
        module.register_forward_pre_hook(lambda m, given, name=name: seen.setdefault(name, given[0].clone()))
        for name, module in model.named_modules()
        if isinstance(module, LAYERS)
    ]
    model(data)
    for hook in hooks:
        hook.remove()
    return seen


def _describe(module, data):
    shape = "x".join(map(str, data.shape))
    if isinstance(module, torch.nn.GroupNorm):
        return f"norm {shape}, {module.num_groups} groups"
    kernel = "x".join(map(str, module.kernel_size))
    return f"{shape} -> {module.out_channels}, {kernel}, stride {module.stride[0]}, {module.groups} groups"


def run(model, data):
    """Prints a line a layer, and the means; returns the network's ratio."""
    ratios = {}
    modules = dict(model.named_modules())
    with torch.no_grad():
        for name, given in _inputs(model, data).items():
            module = modules[name]
            without, within = compare(lambda: module(given))
            kind = "norm" if isinstance(module, torch.nn.GroupNorm) else "dense" if module.groups == 1 else (
                "depthwise" if module.groups == module.in_channels else "grouped")
            ratios.setdefault(kind, []).append(without / within)
            print(f"{without * 1e3:9.3f} {within * 1e3:9.3f} {without / within:6.2f}  {_describe(module, given)}")
        without, within = compare(lambda: model(data))
    for kind, found in ratios.items():
        mean = exp(sum(map(log, found)) / len(found))
        print(f"{kind}: {len(found)} layers, geometric mean {mean:.2f}, least {min(found):.2f}")
    print(f"the network: {without * 1e3:.2f} ms without, {within * 1e3:.2f} ms with, ratio {without / within:.2f}")
    return without / within


def main(words):
    try:
        import torchvision

        name = words[0]
        torch.set_num_threads(int(words[1]) if len(words) > 1 else 1)
        size = int(words[2]) if len(words) > 2 else 224
        model = getattr(torchvision.models, name)().eval()
    except (IndexError, ImportError, AttributeError, ValueError) as wrong:
        print(__doc__.strip(), wrong, sep="\n\n", file=sys.stderr)
        return 2
    torch.manual_seed(0)
    print("  without      with  ratio  layer (ms)")
    run(model, torch.randn(1, 3, size, size))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
