"""Times whole networks of torchvision in PyTorch without and with groupops_torch, in turns.

    torch_networks.py [--threads=1,2] [--seconds=6] [--channels-last] [--fuse] [NETWORK...]

NETWORK is a name of torchvision's, for classification, segmentation (with segmentation/ in front) or
video (with video/); none stands for the list below, all for all that torchvision has. Weights are
random. A line for each network and number of threads: the least milliseconds without and with, their
ratio, and the largest difference of the outputs over the largest output; then the geometric means. With
--fuse the milliseconds after groupops_torch.fuse() and their ratio come behind the first ones, in the same turns.
PYTHONPATH and GROUPOPS_LIBRARY are those of src/engines/pytorch/README.md.
"""

import copy
import ctypes
import sys
import time
from math import exp, log, sqrt

import torch
import torchvision
from torch import nn

import groupops_torch
from torch_worker import set_threads

NETWORKS = """
    alexnet vgg11 squeezenet1_1 densenet121 googlenet inception_v3 resnet18 resnet50 resnext50_32x4d
    mobilenet_v2 mobilenet_v3_small mobilenet_v3_large mnasnet1_0 shufflenet_v2_x1_0 regnet_x_400mf
    regnet_y_400mf efficientnet_b0 efficientnet_v2_s convnext_tiny swin_t vit_b_16
    segmentation/lraspp_mobilenet_v3_large segmentation/deeplabv3_mobilenet_v3_large
    segmentation/fcn_resnet50 video/r3d_18 video/mc3_18 video/r2plus1d_18 video/s3d
""".split()

# The sizes that weights of torchvision's state, where they are not 224, or 112 of a video.
SIDES = {
    "inception_v3": 299, "efficientnet_b1": 240, "efficientnet_b2": 288, "efficientnet_b3": 300, "efficientnet_b4": 380,
    "efficientnet_b5": 456, "efficientnet_b6": 528, "efficientnet_b7": 600, "efficientnet_v2_s": 384,
    "efficientnet_v2_m": 480, "efficientnet_v2_l": 480, "swin_v2_t": 256, "swin_v2_s": 256, "swin_v2_b": 256,
    "mvit_v1_b": 224, "mvit_v2_s": 224, "s3d": 224,
}

# Outputs that differ by more, over the largest, are wrong.
MAX_DIFFERENCE = 1e-3

# Parameters of the C library's mallopt().
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4

# The fewest rounds, however long they take; the most.
ROUNDS = (3, 40)
# Timed calls of each in a round. The first one goes uncounted: it brings its own weights to the caches, and
# after a switch Python and PyTorch look up anew what they call.
CALLS = 3


def keep_memory():
    """Lets the C library keep what is freed. Else it gives the memory of large outputs back to the system at
    some calls and not at others, by what lies behind them, and the page faults double the time of a layer."""
    try:
        ctypes.CDLL(None).mallopt(M_MMAP_MAX, 0)
        ctypes.CDLL(None).mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
    except AttributeError:  # another C library
        pass


def fill_quickly():
    """Lets networks be filled by one block of random numbers again and again: the large ones would take longer to
    make than to measure."""
    block = torch.randn(2**20 - 3)

    def fill(tensor, *_, **__):
        with torch.no_grad():
            deviation = sqrt(2 / tensor[0].numel()) if tensor.dim() > 1 else 0.1
            tensor = tensor.view(-1)
            for part in tensor.split(block.numel()):
                torch.mul(block[: part.numel()], deviation, out=part)

    for name in ("uniform_", "normal_", "trunc_normal_", "kaiming_uniform_", "kaiming_normal_", "xavier_uniform_"):
        setattr(nn.init, name, fill)


def settle(model, data):
    """Lets the convolutions decide the output: normalizations take the moments of this data, as if they were trained,
    ConvNeXt's blocks add all of themselves, not 1e-6, and ViT's last layer is not 0."""

    def look(module, given):
        given = given[0]
        axes = [axis for axis in range(given.dim()) if axis != 1]
        module.running_mean.copy_(given.mean(axes))
        module.running_var.copy_(given.var(axes if given.numel() > given.shape[1] else None, unbiased=False))

    hooks = []
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            hooks.append(module.register_forward_pre_hook(look))
        if hasattr(module, "layer_scale"):
            nn.init.ones_(module.layer_scale)
        if isinstance(module, nn.Linear) and not module.weight.any():
            nn.init.normal_(module.weight)
    if hooks:
        with torch.no_grad():
            model(data)
    for hook in hooks:
        hook.remove()


def every_network():
    """Names of all networks, in the order of the three kinds."""
    for module, kind in (("models", ""), ("models.segmentation", "segmentation/"), ("models.video", "video/")):
        package = sys.modules["torchvision." + module]
        for name in torchvision.models.list_models(package):
            yield kind + name.split("/")[-1]


def make(name):
    """The network and an input of the size that it was made for; videos are short ones."""
    kind, _, bare = name.rpartition("/")
    package = getattr(torchvision.models, kind) if kind else torchvision.models
    words = {"weights": None, "weights_backbone": None} if kind == "segmentation" else {"weights": None}
    if bare in ("googlenet", "inception_v3"):
        words["init_weights"] = False
    model = getattr(package, bare)(**words).eval()
    side = SIDES.get(bare, 112 if kind == "video" else 224)
    data = torch.randn((1, 3, 16, side, side) if kind == "video" else (1, 3, side, side))
    settle(model, data)
    return model, data


def fused(model):
    """A copy that shares the weights, fused; or None where there is nothing to fuse."""
    shared = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    model = copy.deepcopy(model, shared)
    return model if groupops_torch.fuse(model) else None


def least(run):
    run()
    found = []
    for _ in range(CALLS):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return min(found)


def output_of(model, data):
    """The first tensor of what it gives."""
    output = model(data)
    return next(iter(output.values())) if isinstance(output, dict) else output


def difference(model, ours, data):
    """The largest difference between the outputs without and with groupops, over the largest output."""
    expected = output_of(model, data)
    with groupops_torch.enabled():
        found = [output_of(one, data) for one in ours for _ in range(2)]  # the second call takes what was remembered
    return max(float((one - expected).abs().max()) for one in found) / float(expected.abs().max())


def compare(theirs, ours, seconds):
    """The least seconds of a call without groupops, and of each of `ours` with it, in turns."""
    without, within = [], [[] for _ in ours]
    begin = time.perf_counter()
    while len(without) < ROUNDS[0] or len(without) < ROUNDS[1] and time.perf_counter() - begin < seconds:
        without.append(least(theirs))
        with groupops_torch.enabled():
            for run, times in zip(ours, within):
                times.append(least(run))
    return min(without), [min(times) for times in within]


def measure(name, threads, seconds, channels_last, fuse):
    torch.manual_seed(0)
    model, data = make(name)
    if channels_last:
        layout = torch.channels_last_3d if data.dim() == 5 else torch.channels_last
        model, data = model.to(memory_format=layout), data.to(memory_format=layout)
    models = [one for one in (model, fused(model) if fuse else None) if one is not None]
    ratios = {}
    with torch.no_grad():
        for count in threads:
            set_threads(torch, count)
            differs = difference(model, models, data)
            without, within = compare(lambda: model(data), [lambda one=one: one(data) for one in models], seconds)
            ratios[count] = [without / time for time in within]
            columns = "".join(f"{time * 1e3:10.2f} {without / time:7.2f}" for time in within)
            if fuse and len(within) == 1:
                columns += f"{'-':>10} {'-':>7}"
            print(f"{name:44} {count:7} {without * 1e3:10.2f} {columns} {differs:9.1e}", flush=True)
            if not differs <= MAX_DIFFERENCE:
                raise SystemExit(f"{name}: the output is wrong")
    groupops_torch.forget()
    return ratios


def main(words):
    given = dict(word[2:].partition("=")[::2] for word in words if word.startswith("--"))
    names = [word for word in words if not word.startswith("--")] or NETWORKS
    if given.keys() - {"threads", "seconds", "channels-last", "fuse"}:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    threads = [int(count) for count in given.get("threads", "1,2").split(",")]
    found = {count: [] for count in threads}
    keep_memory()
    torch.manual_seed(0)
    fill_quickly()
    more = f"{'fused':>10} {'ratio':>7}" if "fuse" in given else ""
    print(f"{'network':44} {'threads':>7} {'without':>10} {'with':>10} {'ratio':>7}{more} {'differs':>9}")
    for name in list(every_network()) if names == ["all"] else names:
        ratios = measure(name, threads, float(given.get("seconds", 6)), "channels-last" in given, "fuse" in given)
        for count, ratio in ratios.items():
            found[count].append(ratio)
    for count, ratios in found.items():
        for at, what in enumerate(("", ", fused")):
            some = [ratio[at] for ratio in ratios if len(ratio) > at]
            if some:
                mean = exp(sum(map(log, some)) / len(some))
                print(f"{count} threads{what}: {len(some)} networks, geometric mean {mean:.2f}, least {min(some):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
