"""A module whose calls are remembered, and questions to it."""

import unittest
from unittest import mock

import torch
from torch import nn

from groupops_torch import checks

LAYOUT = torch.channels_last


class Case(unittest.TestCase):
    def setUp(self):
        # Served where it is contiguous, left where it is channels_last.
        self.module = nn.Conv2d(6, 10, (3, 2), padding=1, groups=2).eval()
        self.data = torch.randn(2, 6, 7, 5)

    def asked(self, run):
        """How many decisions run() asked for."""
        with mock.patch.object(checks, "left_at_once", side_effect=checks.left_at_once) as asking:
            run()
        return asking.call_count

    def check(self, data=None, module=None, rtol=1e-4):
        """Inside within(): the module's output, which PyTorch has without us."""
        data, module = self.data if data is None else data, module or self.module
        with torch.no_grad():
            got = module(data)
            expected = nn.functional.conv2d(
                data.double(), module.weight.double(), None if module.bias is None else module.bias.double(),
                module.stride, module.padding, module.dilation, module.groups)
        self.assertEqual(got.shape, expected.shape)
        self.assertEqual(got.dtype, data.dtype)
        self.assertTrue(torch.allclose(got.double(), expected, rtol=rtol, atol=rtol))

    def learn(self, data=None):
        """Two calls, of which the second is remembered."""
        data = self.data if data is None else data
        with torch.no_grad():
            self.module(data)
            self.assertEqual(self.asked(lambda: self.module(data)), 0)
