"""What the tests of the module inside PyTorch share; importing it skips where PyTorch is missing."""

import os
import sys
import unittest

SKIPPED = 77

try:
    import torch
except ImportError as absent:
    print(f"skipped, because PyTorch is not installed for {sys.executable} (Debian package python3-torch): {absent}")
    sys.exit(SKIPPED)

import groupops_torch

SEED = int(os.environ.get("GROUPOPS_TEST_SEED", "7"))

ULP = {torch.float64: 2.0**-53, torch.float32: 2.0**-24, torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}


def within(**settings):
    return groupops_torch.enabled(**settings)


def served():
    counts = groupops_torch.statistics()
    return counts["convolution"] + counts["native_group_norm"]


def main():
    torch.manual_seed(SEED)
    unittest.main("__main__", verbosity=2)
