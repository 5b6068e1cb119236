"""What the tests of the module inside PyTorch share; importing it skips where PyTorch is missing."""

import os
import sys
import threading
import unittest

SKIPPED = 77

try:
    import torch
except ImportError as absent:
    print(f"skipped, because PyTorch is not installed for {sys.executable} (Debian package python3-torch): {absent}")
    sys.exit(SKIPPED)

import groupops_torch

SEED = int(os.environ.get("GROUPOPS_TEST_SEED", "7"))

LAYOUTS = (torch.contiguous_format, torch.channels_last)

ULP = {torch.float64: 2.0**-53, torch.float32: 2.0**-24, torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}


def within(**settings):
    return groupops_torch.enabled(**settings)


def served():
    counts = groupops_torch.statistics()
    return counts["convolution"] + counts["native_group_norm"]


def counted():
    """A function that tells by how much each of our counts has grown since."""
    before = groupops_torch.statistics()
    return lambda: {name: count - before[name] for name, count in groupops_torch.statistics().items()}


def writes(name, tensor):
    """By name: ways to change what tensor() gives, which PyTorch counts or does not."""

    def set_data():
        tensor().data = torch.rand(tensor().shape) + 0.1

    return {
        f"{name} counted": lambda: tensor().mul_(1.5),
        f"{name} by NumPy": lambda: tensor().detach().numpy().__imul__(1.5),
        f"{name} data": set_data,
    }


def in_threads(work, count):
    """What work(number) raised, each in a thread of its own."""
    failures = []

    def run(number):
        try:
            work(number)
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


def main():
    torch.manual_seed(SEED)
    unittest.main("__main__", verbosity=2)
