"""Calls of modules that something sees more of than their results: they take PyTorch's own way."""

from unittest import mock

import support  # before all that imports torch

import torch
from torch import nn
from torch.autograd import forward_ad
from torch.nn.utils import stateless
from torch.utils._python_dispatch import TorchDispatchMode

from groupops_torch import chain
from module_case import LAYOUT, Case
from support import within


class Observed(Case):
    def test_autocast(self):
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            expected = self.module(self.data)
        self.assertEqual(expected.dtype, torch.bfloat16)
        for data in (self.data, self.data.to(memory_format=LAYOUT)):
            with within(), torch.no_grad():
                self.learn(data)
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    got = self.module(data)
            self.assertEqual(got.dtype, torch.bfloat16)
            self.assertTrue(torch.allclose(got, expected, rtol=0.02, atol=0.02))

    def test_modes(self):
        class Seen(TorchDispatchMode):
            def __torch_dispatch__(self, function, types, given=(), named=None):
                seen.append(str(function))
                return function(*given, **(named or {}))

        for data in (self.data, self.data.to(memory_format=LAYOUT)):
            seen = []
            with within(), torch.no_grad():
                self.learn(data)
                with Seen():
                    self.module(data)
            self.assertEqual(seen, ["aten.convolution.default"])

    def test_subclass(self):
        class Named(torch.Tensor):
            pass

        with within(), torch.no_grad():
            self.learn()
            self.assertIs(type(self.module(self.data.as_subclass(Named))), Named)

    def test_vmap(self):
        many = torch.stack([self.data, self.data + 1, self.data - 1])
        for layout in (torch.contiguous_format, LAYOUT):
            data = self.data.to(memory_format=layout)
            with within(), torch.no_grad():
                self.learn(data)
                got = torch._vmap_internals._vmap(self.module)(many)
            for one, other in zip(got, many):
                self.assertTrue(torch.allclose(one, self.module(other), rtol=1e-4, atol=1e-4))

    def test_tangents(self):
        for module in (self.module, nn.Sequential(self.module, nn.ReLU())):
            for layout in (torch.contiguous_format, LAYOUT):
                data = self.data.to(memory_format=layout)

                def tangent():
                    with forward_ad.dual_level():
                        dual = forward_ad.make_dual(data, torch.ones_like(data))
                        return forward_ad.unpack_dual(module(dual)).tangent

                with torch.no_grad():
                    expected = tangent()
                    with within():
                        for _ in range(3):
                            self.assertTrue(torch.allclose(tangent(), expected, rtol=1e-4, atol=1e-4))
                            module(data)

    def test_transforms(self):
        """Of functorch, and the older switch of functionalization: of the data, or around a network that is constant."""
        try:
            import functorch
        except ImportError:
            self.skipTest("functorch is not installed")

        def switched(run, data):
            torch._enable_functionalization(reapply_views=True)
            try:
                output = run(torch._to_functional_tensor(data))
                torch._sync(output)
                return torch._from_functional_tensor(output)
            finally:
                torch._disable_functionalization()

        def frozen(data):
            with torch.no_grad():
                return network(data)

        ways = {
            "grad": lambda data: functorch.grad(lambda factor: (frozen(data) * factor).sum())(torch.tensor(2.0)),
            "grad of data": lambda data: functorch.grad(lambda data: network(data).square().sum())(data),
            "vmap": lambda data: functorch.vmap(lambda factor: frozen(data) * factor)(torch.arange(3.0)),
            "functionalize": lambda data: functorch.functionalize(lambda factor: frozen(data) * factor)(torch.tensor(2.0)),
            "functionalize data": lambda data: functorch.functionalize(frozen)(data),
            "switched": lambda data: switched(lambda one: frozen(data) * one.sum(), data),
            "switched data": lambda data: switched(frozen, data),
        }
        for name, way in ways.items():
            for layout in (torch.contiguous_format, LAYOUT):
                data = self.data.to(memory_format=layout)
                for calls in range(3):
                    conv = nn.Conv2d(6, 10, (3, 2), padding=1, groups=2)
                    network = nn.Sequential(conv, nn.BatchNorm2d(10), nn.ReLU(), nn.Conv2d(10, 3, 3)).eval()
                    with self.subTest(name, layout=layout, calls=calls):
                        expected, plain = way(data), frozen(data)
                        with within(), mock.patch.object(chain, "MIN_FOLDED", 0):
                            for _ in range(calls):
                                frozen(data)
                            for _ in range(2):
                                self.assertTrue(torch.allclose(way(data), expected, rtol=1e-4, atol=1e-4))
                                self.assertTrue(torch.allclose(frozen(data), plain, rtol=1e-4, atol=1e-4))

    def test_negative_view(self):
        with within(), torch.no_grad():
            self.learn()
            self.check(torch._neg_view(self.data))
            self.check(self.data)

    def test_trace_and_script(self):
        for data in (self.data, self.data.to(memory_format=LAYOUT)):
            with within(), torch.no_grad():
                self.learn(data)
                traced = torch.jit.trace(self.module, data, check_trace=False)
                scripted = torch.jit.script(nn.Sequential(self.module, nn.ReLU()))
            other = torch.randn(1, 6, 9, 8)
            expected = self.module(other)
            self.assertIn("aten::_convolution", str(traced.graph))
            self.assertTrue(torch.allclose(traced(other), expected, rtol=1e-4, atol=1e-4))
            self.assertTrue(torch.allclose(scripted(other), expected.relu(), rtol=1e-4, atol=1e-4))

    def test_hooks(self):
        seen = []
        with within():
            self.learn()
            hook = self.module.register_forward_hook(lambda module, given, output: seen.append(output.shape))
            self.check()
            hook.remove()
            self.check()
        self.assertEqual(len(seen), 1)

    def test_weight_norm(self):
        with within():
            self.learn()
            nn.utils.weight_norm(self.module)
            for _ in range(3):
                self.check()
                self.module.weight_g.data.mul_(2)
            nn.utils.remove_weight_norm(self.module)
            self.check()

    def test_parametrized(self):
        class Doubled(nn.Module):
            def forward(self, weight):
                return 2 * weight

        for name in ("weight", "bias"):
            with within():
                self.learn()
                nn.utils.parametrize.register_parametrization(self.module, name, Doubled())
                self.check()
                self.check()
                nn.utils.parametrize.remove_parametrizations(self.module, name)
                self.learn()

    def test_own_forward(self):
        class Negative(nn.Conv2d):
            def _conv_forward(self, input, weight, bias):
                return -super()._conv_forward(input, weight, bias)

        module = Negative(6, 10, 3)
        with torch.no_grad():
            expected = module(self.data)
            with within():
                for _ in range(3):
                    self.assertTrue(torch.allclose(module(self.data), expected, rtol=1e-4, atol=1e-4))

    def check_change(self, change, factor):
        """After change() the module's outputs are `factor` times what they were, by itself and in a
        sequence, whether its calls are known or not."""
        for layout in (torch.contiguous_format, LAYOUT):
            data = self.data.to(memory_format=layout)
            for known in (False, True):
                self.setUp()
                network = nn.Sequential(self.module, nn.Sigmoid())
                with within(), torch.no_grad(), self.subTest(layout=layout, known=known):
                    expected = factor * self.module(data)
                    for _ in range(3 * known):
                        self.module(data)
                        network(data)
                    change()
                    for _ in range(3):
                        self.assertTrue(torch.allclose(self.module(data), expected, rtol=1e-4, atol=1e-4))
                        self.assertTrue(torch.allclose(network(data), expected.sigmoid(), rtol=1e-4, atol=1e-4))

    def test_own_forward_of_one(self):
        """And of one whose calls are known, also in a sequence."""
        def negative(input, weight, bias):
            return -nn.Conv2d._conv_forward(self.module, input, weight, bias)

        self.check_change(lambda: setattr(self.module, "_conv_forward", negative), -1)

    def test_other_class(self):
        """Assigned after the first calls, or with another way to what the call reads."""
        class Double(nn.Conv2d):
            def _conv_forward(self, input, weight, bias):
                return 2 * super()._conv_forward(input, weight, bias)

        class DoubleAttribute(nn.Conv2d):
            def __getattribute__(self, name):
                if name in ("weight", "bias"):
                    return 2 * self._parameters[name]
                return super().__getattribute__(name)

        class DoubleParameter(nn.Conv2d):
            def __getattr__(self, name):
                return 2 * super().__getattr__(name)

        class DoubleWeight(nn.Conv2d):
            weight = property(lambda self: self._parameters["weight"] * 2, lambda self, weight: None)
            bias = property(lambda self: self._parameters["bias"] * 2, lambda self, bias: None)

        for kind in (Double, DoubleAttribute, DoubleParameter, DoubleWeight):
            with self.subTest(kind=kind):
                self.check_change(lambda: setattr(self.module, "__class__", kind), 2)

    def test_functional_call(self):
        """With other tensors in place of the module's own, by turns with the module's."""
        network = nn.Sequential(self.module, nn.BatchNorm2d(10), nn.ReLU()).eval()
        for layout in (torch.contiguous_format, LAYOUT):
            data = self.data.to(memory_format=layout)
            for model in (self.module, network):
                for name in model.state_dict():
                    if not name.endswith("num_batches_tracked"):
                        other = {name: torch.rand(model.state_dict()[name].shape) + 0.1}
                        with torch.no_grad(), self.subTest(name, model=model, layout=layout):
                            expected = model(data), stateless.functional_call(model, other, (data,))
                            with within():
                                for _ in range(3):
                                    got = model(data), stateless.functional_call(model, other, (data,))
                                    for ours, theirs in zip(got, expected):
                                        self.assertTrue(torch.allclose(ours, theirs, rtol=1e-4, atol=1e-4))


if __name__ == "__main__":
    support.main()
