"""Times whole networks of torchvision in PyTorch without and with groupops_torch, in turns.

    torch_networks.py [--threads=1,2] [--seconds=6] [--channels-last] [--fuse] [NETWORK...]

NETWORK is a name of torchvision's, for classification, segmentation (with segmentation/ in front) or
video (with video/); none stands for the list below, all for all that torchvision has. Weights are
random. --fuse calls groupops_torch.fuse(). A line for each network and number of threads: the least milliseconds
without and with, and their ratio; then the geometric means. PYTHONPATH and GROUPOPS_LIBRARY are those of
src/engines/pytorch/README.md.
"""

import ctypes
import sys
import time
from math import exp, log

import torch
import torchvision

import groupops_torch
from torch_worker import set_threads

NETWORKS = """
    alexnet vgg11 squeezenet1_1 densenet121 googlenet inception_v3 resnet18 resnet50 resnext50_32x4d
    mobilenet_v2 mobilenet_v3_small mobilenet_v3_large mnasnet1_0 shufflenet_v2_x1_0 regnet_x_400mf
    regnet_y_400mf efficientnet_b0 efficientnet_v2_s convnext_tiny swin_t vit_b_16
    segmentation/lraspp_mobilenet_v3_large segmentation/deeplabv3_mobilenet_v3_large
    segmentation/fcn_resnet50 video/r3d_18 video/mc3_18 video/r2plus1d_18 video/s3d
""".split()

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
    if kind == "video":
        side = 224 if bare in ("mvit_v1_b", "mvit_v2_s", "s3d") else 112
        size = (1, 3, 16, side, side)
    else:
        side = 299 if bare == "inception_v3" else 224
        size = (1, 3, side, side)
    return model, torch.randn(size)


def least(run):
    run()
    found = []
    for _ in range(CALLS):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return min(found)


def compare(run, seconds):
    """The least seconds of a call without and with groupops, in turns."""
    without, within = [], []
    begin = time.perf_counter()
    while len(without) < ROUNDS[0] or len(without) < ROUNDS[1] and time.perf_counter() - begin < seconds:
        without.append(least(run))
        with groupops_torch.enabled():
            within.append(least(run))
    return min(without), min(within)


def measure(name, threads, seconds, channels_last, fuse):
    torch.manual_seed(0)
    model, data = make(name)
    if channels_last:
        layout = torch.channels_last_3d if data.dim() == 5 else torch.channels_last
        model, data = model.to(memory_format=layout), data.to(memory_format=layout)
    if fuse:
        groupops_torch.fuse(model)
    ratios = {}
    with torch.no_grad():
        for count in threads:
            set_threads(torch, count)
            without, within = compare(lambda: model(data), seconds)
            ratios[count] = without / within
            print(f"{name:44} {count:7} {without * 1e3:10.2f} {within * 1e3:10.2f} {ratios[count]:7.2f}", flush=True)
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
    print(f"{'network':44} {'threads':>7} {'without':>10} {'with':>10} {'ratio':>7}")
    for name in list(every_network()) if names == ["all"] else names:
        ratios = measure(name, threads, float(given.get("seconds", 6)), "channels-last" in given, "fuse" in given)
        for count, ratio in ratios.items():
            found[count].append(ratio)
    for count, ratios in found.items():
        mean = exp(sum(map(log, ratios)) / len(ratios))
        print(f"{count} threads: {len(ratios)} networks, geometric mean {mean:.2f}, least {min(ratios):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
