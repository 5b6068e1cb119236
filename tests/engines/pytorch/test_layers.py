"""The module inside PyTorch: whole networks, layers, and what is left alone."""

import contextlib
import sys
import threading
import time
import unittest
from unittest import mock

import support  # before all that imports torch

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import groupops_torch
import nets
from groupops_torch import override
from support import ULP, in_threads, served, within

F = torch.nn.functional


class Case(unittest.TestCase):
    def same(self, run, bound):
        """run() with and without, which may differ by `bound`; and it was ours, not left alone."""
        with torch.no_grad():
            expected = run()
            before = served()
            with within():
                got = run()
            self.assertGreater(served(), before, "it was left to PyTorch")
        self.assertEqual(got.shape, expected.shape)
        self.assertEqual(got.dtype, expected.dtype)
        worst = (got.double() - expected.double()).abs().max().item()
        self.assertLessEqual(worst, bound)
        return worst

    def same_layer(self, run, terms, dtype=torch.float32):
        """For a sum of `terms` products of numbers of about 1: two orders of summation are each
        off by less than terms * u * (the sum of the magnitudes), here taken as 2 * terms."""
        return self.same(run, 2 * terms * ULP[dtype] * 2 * terms)


class Networks(Case):
    """Normalized between layers, so that an output is off by some hundred roundings of its own
    size; 1e-4 of the largest is a thousand. Each network is first seen to tell convolutions that
    are off by 1% apart, by ten times the bound."""

    BOUND = 1e-4

    def off_by(self, model, images, expected):
        """How far the output moves, of its largest, when each grouped convolution's channels are
        by turns right and 1% too large (a normalization would take out a factor of them all)."""
        def spoil(module, given, output):
            output[:, ::2] *= 1.01
        hooks = [module.register_forward_hook(spoil) for module in model.modules()
                 if getattr(module, "groups", 1) > 1]
        moved = (model(images) - expected).abs().max().item()
        for hook in hooks:
            hook.remove()
        return moved / expected.abs().max().item()

    def run_network(self, name, size=96):
        try:
            model = nets.build(name)
        except ImportError as absent:
            self.skipTest(f"torchvision is not installed (Debian package python3-torchvision): {absent}")
        images = torch.randn(2, 3, size, size)
        with torch.no_grad():
            expected = model(images)
            self.assertGreater(self.off_by(model, images, expected), 10 * self.BOUND)
        largest = expected.abs().max().item()
        worst = self.same(lambda: model(images), self.BOUND * largest)
        print(f"{name}: largest output {largest:.4g}, largest difference {worst:.2g}")

    def test_resnext(self):
        self.run_network("resnext50_32x4d")

    def test_shufflenet(self):
        self.run_network("shufflenet_v2_x1_0")

    def test_mobilenet(self):
        self.run_network("mobilenet_v3_large")

    def test_regnet(self):
        self.run_network("regnet_x_800mf")

    def test_convnext(self):
        self.run_network("convnext_tiny")

    def test_unet(self):
        self.run_network("unet", 44)


class Layers(Case):
    def test_convolutions(self):
        functions = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
        for axes, function in functions.items():
            for dtype in (torch.float32, torch.float64, torch.bfloat16):
                for groups in (1, 3):
                    data = torch.randn(2, 6, *(13, 11, 7)[:axes]).to(dtype)
                    weight = torch.randn(9, 6 // groups, *(3, 2, 3)[:axes]).to(dtype)
                    bias = torch.randn(9).to(dtype)
                    terms = weight[0].numel() + 1
                    with self.subTest(axes=axes, dtype=dtype, groups=groups):
                        self.same_layer(
                            lambda: function(data, weight, bias, stride=2, padding=1, dilation=2, groups=groups),
                            terms, dtype)

    def test_transposed(self):
        functions = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
        for axes, function in functions.items():
            for dtype in (torch.float32, torch.float64):
                for groups in (1, 3):
                    data = torch.randn(2, 6, *(7, 5, 4)[:axes]).to(dtype)
                    weight = torch.randn(6, 5, *(3, 2, 3)[:axes]).to(dtype)
                    bias = torch.randn(5 * groups).to(dtype)
                    terms = weight[0, 0].numel() * 6 // groups + 1
                    with self.subTest(axes=axes, dtype=dtype, groups=groups):
                        self.same_layer(
                            lambda: function(data, weight, bias, stride=3, padding=1, output_padding=1,
                                             groups=groups, dilation=2), terms, dtype)

    def test_same_padding_and_unbatched(self):
        weight = torch.randn(5, 4, 4)
        data = torch.randn(2, 4, 17)
        self.same_layer(lambda: F.conv1d(data, weight, padding="same"), 16)
        self.same_layer(lambda: F.conv1d(data[0], weight), 16)

    def test_not_contiguous(self):
        data = torch.randn(2, 7, 8, 12).permute(0, 2, 3, 1)
        weight = torch.randn(3, 3, 8, 4).permute(2, 3, 0, 1)
        bias = torch.randn(16)[::2]
        self.assertFalse(data.is_contiguous() or weight.is_contiguous() or bias.is_contiguous())
        data = data[:, :, :11]
        self.same_layer(lambda: F.conv2d(data, weight, bias, groups=2), 36)

    def test_group_norm(self):
        for dtype in (torch.float32, torch.float64):
            data = torch.randn(3, 12, 7, 5).to(dtype) * 3 + 5
            weight, bias = torch.randn(12).to(dtype), torch.randn(12).to(dtype)
            for given in ((weight, bias), (None, None)):
                # Of a few roundings of numbers to about 10.
                self.same(lambda: F.group_norm(data, 4, *given), 400 * ULP[dtype])
            outputs = torch.native_group_norm(data, weight, bias, 3, 12, 35, 4, 1e-5)
            with within():
                ours = torch.native_group_norm(data, weight, bias, 3, 12, 35, 4, 1e-5)
            for one, other in zip(ours, outputs):
                self.assertEqual(one.shape, other.shape)
                self.assertLess((one - other).abs().max().item(), 400 * ULP[dtype])

    def test_half(self):
        """f16 where PyTorch has it (1.13 has not, and refuses it): rounded once from f32."""
        data, weight = torch.randn(1, 4, 9, 9).half(), torch.randn(4, 2, 3, 3).half()
        expected = F.conv2d(data.float(), weight.float(), groups=2)
        with within(), mock.patch("groupops_torch.checks._computes_convolution", lambda *kind: True):
            got = F.conv2d(data, weight, groups=2)
        self.assertEqual(got.dtype, torch.float16)
        worst = (got.float() - expected).abs().max().item()
        self.assertLessEqual(worst, expected.abs().max().item() * 2.0**-11 + 1e-5)

    def test_gradients_are_those_of_pytorch(self):
        weight = torch.randn(6, 2, 3, 3, requires_grad=True)
        data = torch.randn(2, 6, 9, 9, requires_grad=True)
        F.conv2d(data, weight, groups=3).square().sum().backward()
        expected = weight.grad.clone(), data.grad.clone()
        weight.grad = data.grad = None
        with within():
            F.group_norm(F.conv2d(data, weight, groups=3), 2).sum().backward()
            weight.grad = data.grad = None
            F.conv2d(data, weight, groups=3).square().sum().backward()
        for got, wanted in zip((weight.grad, data.grad), expected):
            self.assertTrue(torch.allclose(got, wanted, rtol=1e-4, atol=1e-3))

    def test_gradients_of_a_group_norm(self):
        """PyTorch's formula takes the means and deviations that the library found."""
        given = [torch.randn(*shape, requires_grad=True) for shape in ((3, 6, 5, 4), (6,), (6,))]
        found = []
        for context in (contextlib.nullcontext, within):
            with context():
                before = served()
                (F.group_norm(given[0], 3, *given[1:]) * torch.arange(20.0).reshape(5, 4)).square().sum().backward()
            found.append([t.grad for t in given])
            for t in given:
                t.grad = None
        self.assertGreater(served(), before)
        for wanted, got in zip(*found):
            self.assertTrue(torch.allclose(got, wanted, rtol=1e-4, atol=1e-4 * wanted.abs().max().item()))


class LeftAlone(unittest.TestCase):
    """What the library does not take runs in PyTorch and gives its results."""

    def left(self, run):
        before = groupops_torch.statistics()["left to PyTorch"]
        expected = run()
        with within():
            got = run()
        self.assertEqual(groupops_torch.statistics()["left to PyTorch"], before + 1)
        self.assertTrue(torch.allclose(got, expected, rtol=1e-5, atol=1e-5))

    def test_channels_last(self):
        data = torch.randn(2, 4, 8, 9).to(memory_format=torch.channels_last)
        self.left(lambda: F.conv2d(data, torch.ones(6, 2, 3, 3), groups=2))

    def test_permuted_weights_of_rows(self):
        """PyTorch's output has their layout."""
        data = torch.randn(2, 24, 30)
        weight = torch.randn(40, 3, 24).transpose(1, 2)
        self.left(lambda: F.conv1d(data, weight).transpose(1, 2).view(-1, 40))

    def test_channels_last_of_many_weights(self):
        """Converted, and the output is as PyTorch has it."""
        layout = torch.channels_last
        for weight, data, settings in (
            (torch.randn(130, 70, 3, 3), torch.randn(2, 70, 7, 5), {"padding": 1}),
            (torch.randn(130, 70, 3, 3).to(memory_format=layout), torch.randn(2, 70, 7, 5), {"stride": 2}),
            (torch.randn(515, 257, 2, 1), torch.randn(2, 257, 6, 6), {"bias": torch.randn(515)}),
        ):
            data = data.to(memory_format=layout)
            expected = F.conv2d(data, weight, **settings)
            before = served()
            with within():
                got = F.conv2d(data, weight, **settings)
            self.assertEqual(served(), before + 1)
            self.assertEqual(got.stride(), expected.stride())
            self.assertTrue(torch.allclose(got, expected, rtol=1e-4, atol=1e-3))
        wide = torch.randn(1, 70, 41, 43).to(memory_format=layout)
        self.left(lambda: F.conv2d(wide, torch.ones(130, 70, 3, 3)))

    def test_complex(self):
        """PyTorch makes real ones of it, which are served."""
        data, weight = torch.randn(1, 4, 9, dtype=torch.complex64), torch.randn(4, 4, 3, dtype=torch.complex64)
        expected = F.conv1d(data, weight)
        with within():
            got = F.conv1d(data, weight)
        self.assertTrue(torch.allclose(got, expected, rtol=1e-4, atol=1e-4))

    def test_empty(self):
        self.left(lambda: F.conv2d(torch.randn(0, 4, 8, 9), torch.ones(6, 2, 3, 3), groups=2))

    def refused(self, run):
        """By PyTorch, in its own words, with and without; and the next call works."""
        data, weight = torch.randn(1, 4, 9), torch.randn(4, 4, 3)
        with self.assertRaises(Exception) as own:
            run()
        with within():
            with self.assertRaises(type(own.exception)) as ours:
                run()
            F.conv1d(data, weight)
        self.assertEqual(str(ours.exception), str(own.exception))

    def test_refusals_of_convolutions(self):
        data, weight = torch.randn(2, 8, 7, 9), torch.randn(8, 8, 2, 3)
        for bias in (torch.randn(2), torch.randn(16), torch.randn(()), torch.randn(8, 1), torch.randn(8).double()):
            with self.subTest(bias=bias.shape):
                self.refused(lambda: F.conv2d(data, weight, bias))
                self.refused(lambda: F.conv_transpose2d(data, weight, bias))
        for attributes in ({"stride": 0}, {"dilation": 0}, {"padding": -1}, {"groups": 3}, {"dilation": 9}):
            with self.subTest(attributes):
                self.refused(lambda: F.conv2d(data, weight, **attributes))
        for attributes in (
            {"output_padding": 1}, {"output_padding": 2, "stride": 2}, {"output_padding": -1}, {"padding": 20},
            {"output_padding": (2, 0), "dilation": (2, 1)},
        ):
            with self.subTest(attributes):
                self.refused(lambda: F.conv_transpose2d(data, weight, **attributes))

    def test_refusals_of_normalizations(self):
        data, scale = torch.randn(2, 8, 3, 5), torch.randn(8)
        self.refused(lambda: torch.native_group_norm(data, scale, scale, 2, 8, 16, 2, 1e-5))
        self.refused(lambda: torch.native_group_norm(data, scale, scale, 2, 8, 10**9, 2, 1e-5))
        for wrong in (scale[:4], torch.randn(16), torch.randn(8, 1), torch.randn(())):
            with self.subTest(shape=wrong.shape):
                self.refused(lambda: torch.native_group_norm(data, wrong, scale, 2, 8, 15, 2, 1e-5))
                self.refused(lambda: torch.native_group_norm(data, scale, wrong, 2, 8, 15, 2, 1e-5))
        for dtype in (torch.int64, torch.uint8, torch.bool, torch.float16, torch.complex64):
            with self.subTest(dtype=dtype):
                self.refused(lambda: F.group_norm(data.to(dtype), 2))
        self.refused(lambda: torch.native_group_norm(data.bfloat16(), scale, scale, 2, 8, 15, 2, 1e-5))
        self.refused(lambda: torch.native_group_norm(data, scale.to_sparse(), scale, 2, 8, 15, 2, 1e-5))
        self.refused(lambda: F.group_norm(data, 3))

    def test_normalizations_that_the_library_does_not_take(self):
        data = torch.randn(2, 8, 3, 5)
        self.left(lambda: F.group_norm(data[:0], 2))
        self.left(lambda: F.group_norm(data, 2, eps=0.0))
        self.left(lambda: F.group_norm(data + 3, 2, eps=-1e-3))
        with within():
            self.assertEqual(F.group_norm(data.to("meta"), 2).shape, data.shape)
            with FakeTensorMode():
                fake = torch.nn.GroupNorm(2, data.shape[1])(torch.empty(data.shape))
            self.assertEqual(fake.shape, data.shape)

    def test_misaligned(self):
        memory = bytearray(4 * 400 + 1)
        data = torch.frombuffer(memory, dtype=torch.float32, count=400, offset=1).view(2, 8, 25)
        data.copy_(torch.randn(2, 8, 25))
        weight = torch.randn(8, 4, 3)
        self.left(lambda: F.conv1d(data, weight, groups=2))
        self.left(lambda: F.conv1d(weight, data[:, :4, :3]))
        self.left(lambda: F.group_norm(data, 2))


class Switch(unittest.TestCase):
    data, weight = torch.randn(1, 4, 6), torch.randn(4, 4, 3)

    def ours(self):
        before = served()
        F.conv1d(self.data, self.weight)
        return served() > before

    def test_on_and_off(self):
        self.assertFalse(self.ours())
        with within():
            self.assertTrue(self.ours())
            with within():
                self.assertTrue(self.ours())
            self.assertTrue(self.ours())
        self.assertFalse(self.ours())
        with self.assertRaises(ValueError):
            with within():
                raise ValueError
        self.assertFalse(self.ours())

    def test_many_threads(self):
        wrong = []
        expected = F.conv1d(self.data, self.weight)

        def run():
            for _ in range(50):
                with within():
                    if not torch.allclose(F.conv1d(self.data, self.weight), expected, rtol=1e-5, atol=1e-5):
                        wrong.append(1)

        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertFalse(wrong)
        self.assertFalse(self.ours())

    def test_closed_during_calls(self):
        """Of threads that have none open; what a call of theirs waits in is not freed."""
        expected = F.group_norm(F.conv1d(self.data, self.weight), 2)
        closed = threading.Event()

        def run(_):
            while not closed.is_set():
                got = F.group_norm(F.conv1d(self.data, self.weight), 2)
                if not torch.allclose(got, expected, rtol=1e-4, atol=1e-4):
                    raise AssertionError(got)

        def switch(_):
            try:
                for _ in range(400):
                    with within():
                        time.sleep(0.0005)
                    time.sleep(0.0005)
            finally:
                closed.set()

        interval = sys.getswitchinterval()
        self.addCleanup(sys.setswitchinterval, interval)
        sys.setswitchinterval(1e-6)
        self.assertEqual(in_threads(lambda number: (run if number > 0 else switch)(number), 4), [])
        self.assertFalse(self.ours())
        with within():  # which finds no other thread
            self.assertTrue(self.ours())
        self.assertEqual(override._registered, ())


class Accuracy(unittest.TestCase):
    """Relaxed takes another algorithm for such a layer, in portable code, too: other bits, nearly the same values."""

    def setUp(self):
        self.data, self.weight = torch.randn(1, 64, 28, 28), torch.randn(64, 16, 3, 3)

    def run_layer(self, **options):
        with torch.no_grad(), within(**options):
            return F.conv2d(self.data, self.weight, groups=4)

    def test_accuracy(self):
        exact = self.run_layer()
        self.assertTrue(torch.equal(self.run_layer(accuracy="exact"), exact))
        relaxed = self.run_layer(accuracy="relaxed")
        self.assertFalse(torch.equal(relaxed, exact))
        self.assertLess((relaxed - exact).abs().max().item(), 1e-2)
        with within():
            self.assertTrue(torch.equal(self.run_layer(accuracy="relaxed"), exact))

    def test_environment(self):
        relaxed = self.run_layer(accuracy="relaxed")
        with mock.patch.dict("os.environ", GROUPOPS_ACCURACY="relaxed"):
            self.assertTrue(torch.equal(self.run_layer(), relaxed))
            self.assertFalse(torch.equal(self.run_layer(accuracy="exact"), relaxed))
        with mock.patch.dict("os.environ", GROUPOPS_ACCURACY="fast"):
            with self.assertRaisesRegex(ValueError, '"fast"; it must be exact or relaxed'):
                self.run_layer()
        self.assertFalse(torch.equal(self.run_layer(), relaxed))


if __name__ == "__main__":
    support.main()
