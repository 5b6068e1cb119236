"""Models whose own forwards call convolutions: fused by fuse(), and when they are not."""

import contextlib
import copy
import gc
import pickle
import unittest
import unittest.mock
import weakref
from collections import OrderedDict

import support  # before all that imports torch

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import stateless

import groupops_torch
from graph_models import (
    Block, Borrows, Buffered, Calls, Extends, Inherits, ListOrTensor, Lists, Named, Two, Writes, uneven,
)
from groupops_torch import chain, override
from support import LAYOUTS, within

chain.MIN_FOLDED = 0  # so that the small outputs of tests are folded, too


class Case(unittest.TestCase):
    def setUp(self):
        self.model = uneven(Block())
        self.data = torch.randn(2, 6, 7, 5)

    def check(self, model=None, data=None):
        """Inside within(): what the model gives."""
        model, data = model or self.model, self.data if data is None else data
        with torch.no_grad():
            got = model(data)
            expected = copy.deepcopy(model).double()(data.double())
        if isinstance(got, dict):
            self.assertEqual(type(got), type(expected))
            got, expected = got["out"], expected["out"]
        self.assertEqual((got.shape, got.dtype), (expected.shape, data.dtype))
        self.assertTrue(torch.allclose(got.double(), expected, rtol=1e-4, atol=1e-4))
        self.assertEqual(got.stride(), expected.stride())

    def known(self, model=None):
        return override._graphs._known.get(id((model or self.model).__dict__))

    def chains(self):
        return self.known().chains

    def learn(self, data=None):
        """Until every chain is one call."""
        for _ in range(3):
            self.check(data=data)
        with unittest.mock.patch.object(nn.BatchNorm2d, "forward", side_effect=AssertionError):
            with torch.no_grad():
                self.model(self.data if data is None else data)


class Values(Case):
    def test_block(self):
        self.assertEqual(groupops_torch.fuse(self.model), 3)
        with within():
            for layout in LAYOUTS:
                self.learn(self.data.to(memory_format=layout))
            self.assertEqual([len(chain.modules) for chain in self.chains()], [3, 3, 2])

    def test_forwards(self):
        """The number of calls that are fused to one or more, and the values."""
        def in_place(model, x):
            y = model.conv(x)
            x.mul_(0.5)
            return model.norm(y) + x.sum()

        def used_twice(model, x):
            y = model.conv(x)
            return model.norm(y) + y

        def written(model, x):
            y = model.norm(model.conv(x))
            x.add_(1)
            return F.relu(y) * x[:, :1]

        for forward, modules in (
            (lambda model, x: F.relu(model.norm(model.conv(x)), inplace=True), [3]),
            (lambda model, x: model.norm(model.conv(x)).relu(), [3]),
            (lambda model, x: torch.sigmoid(model.conv(x)), [2]),
            (lambda model, x: F.silu(model.norm(model.conv(x))), [3]),
            (lambda model, x: model.norm(torch.relu(model.conv(x))), [2]),
            (lambda model, x: F.leaky_relu(model.norm(model.conv(x)), 0.3), [2]),
            (lambda model, x: model.norm(model.conv(x)) + 1.5, [2]),
            (lambda model, x: torch.add(model.norm(model.conv(x)), x[:, :1], alpha=2), [2]),
            (lambda model, x: model.norm(model.conv(x)) + x[:, :1], [2]),
            (lambda model, x: x[:, :1] - model.norm(model.conv(x)), [2]),
            (lambda model, x: model.norm(model.conv(x * 2)) + model.norm(model.conv(x)), [2, 2]),
            (used_twice, []),
            (in_place, []),
            (written, [2]),
        ):
            self.model = uneven(Calls(forward))
            with self.subTest(forward=forward), within(), torch.no_grad():
                data = self.data.clone()
                self.assertEqual(groupops_torch.fuse(self.model), len(modules))
                for _ in range(4):
                    got = self.model(data.copy_(self.data))
                    expected = self.model.of(copy.deepcopy(self.model).double(), self.data.double())
                    self.assertTrue(torch.allclose(got.double(), expected, rtol=1e-4, atol=1e-4))
                if modules:
                    self.assertEqual([len(chain.modules) for chain in self.chains()], modules)

    def test_sums(self):
        """With tensors that the library reads, and others."""
        sums = (lambda a, b: a + b, lambda a, b: b + a, lambda a, b: torch.add(a, b), lambda a, b: a.__iadd__(b))
        others = [
            torch.randn(2, 10, 7, 5), torch.randn(2, 10, 7, 5).to(memory_format=torch.channels_last), torch.randn(10, 7, 5),
            torch.randn(2, 10, 1, 5), torch.randn(2, 10, 7, 10)[..., ::2], torch.randn(1),
        ]
        others += [torch.randn(3, 2, 10, 7, 5), torch.randn(2, 10, 7, 5).double()]
        for sum in sums:
            for other in others:
                for layout in LAYOUTS:
                    data = self.data.to(memory_format=layout)
                    def forward(model, x, sum=sum):
                        x, other = x
                        return torch.relu(sum(model.norm(model.conv(x)), other))

                    model = uneven(Two(forward))
                    with self.subTest(shape=other.shape, layout=layout), torch.no_grad(), within():
                        try:
                            expected = model(data, other)
                        except RuntimeError:
                            continue
                        self.assertEqual(groupops_torch.fuse(model), 1)
                        for _ in range(4):
                            got = model(data, other)
                            self.assertTrue(torch.allclose(got, expected, rtol=1e-4, atol=1e-4))
                            self.assertEqual((got.dtype, got.stride()), (expected.dtype, expected.stride()))

    def test_other_inputs(self):
        groupops_torch.fuse(self.model)
        inputs = [torch.randn(1 + size % 3, 6, size, 20 - size) for size in range(3, 15)]
        with within():
            for data in inputs + inputs[::-1]:
                self.check(data=data)
            self.model.double()
            self.check(data=self.data.double())
            with self.assertRaises(RuntimeError):
                self.check()
            with torch.no_grad(), self.assertRaises(TypeError):
                self.model(self.data, self.data)

    def test_parts(self):
        """What torch.fx cannot follow as a whole."""
        self.model = uneven(Named())
        self.assertEqual(groupops_torch.fuse(self.model), 6)
        self.assertIsNone(self.known())
        self.model = uneven(Named())
        with within():
            for _ in range(2):
                self.check()
            self.assertEqual(groupops_torch.fuse(self.model), 6)
            for _ in range(4):
                self.check()
            self.assertIsNotNone(self.known(self.model.blocks[1]))

    def test_what_is_not_as_recorded(self):
        draws = Calls(lambda model, x: model.norm(model.conv(x)) + torch.rand_like(x[:, :1]))
        for model in (uneven(ListOrTensor()), uneven(draws)):
            self.assertGreater(groupops_torch.fuse(model), 0)
            state = torch.random.get_rng_state()
            with within(), torch.no_grad():
                model(self.data)
                self.assertIsNone(self.known(model))
                first, second = model(self.data), model(self.data)
            self.assertEqual(torch.equal(first, second), model is not draws)
            torch.random.set_rng_state(state)

    def test_written_attributes(self):
        self.model = uneven(Writes())
        self.assertEqual(groupops_torch.fuse(self.model), 3)
        self.assertIsNone(self.model.size)
        with within():
            for _ in range(4):
                self.check()
        self.assertEqual(self.model.size, self.data.shape)

    def test_written_buffers(self):
        """Once by each call, and not by fuse()."""
        def forward(model, x):
            model.calls.add_(1)
            return model.norm(model.conv(x)).relu()

        model = uneven(Calls(forward))
        model.register_buffer("calls", torch.zeros(()))
        self.assertEqual(groupops_torch.fuse(model), 1)
        with within(), torch.no_grad():
            for count in range(4):
                self.assertEqual(model.calls, count)
                self.check(model)

    def test_networks(self):
        try:
            import torchvision
        except ImportError as absent:
            self.skipTest(f"torchvision is not installed (Debian package python3-torchvision): {absent}")
        for name in ("resnet18", "densenet121", "googlenet"):
            model = getattr(torchvision.models, name)(**{"init_weights": False} if name == "googlenet" else {})
            model = uneven(model)
            data = torch.randn(1, 3, 64, 64)
            with torch.no_grad():
                expected = model(data)
                self.assertGreater(groupops_torch.fuse(model), 15)
                with within():
                    for _ in range(3):
                        got = model(data)
            self.assertLess((got - expected).abs().max(), 1e-3 * expected.abs().max())


class Changed(Case):
    def setUp(self):
        super().setUp()
        groupops_torch.fuse(self.model)

    def test_writes(self):
        other = uneven(Block())
        writes = {
            "state": lambda: self.model.load_state_dict(other.state_dict()),
            "another module": lambda: setattr(self.model, "bn2", other.bn2),
            "another parameter": lambda: setattr(self.model.conv2, "weight", other.conv2.weight),
            "attribute": lambda: setattr(self.model, "scale", 3.0),
            "stride": lambda: (setattr(self.model.conv2, "padding", (1, 0)), setattr(self.model.aside, "padding", (0, 0))),
            "slope": lambda: setattr(self.model, "relu", nn.LeakyReLU(0.5)),
        }
        for at, name in (("conv1", "weight"), ("conv2", "bias"), ("bn2", "weight"), ("bn3", "running_var")):
            writes.update(
                support.writes(f"{at} {name}", lambda at=at, name=name: getattr(getattr(self.model, at), name)))
        for name, write in writes.items():
            for layout in LAYOUTS:
                self.setUp()
                with within(), torch.no_grad(), self.subTest(name, layout=layout):
                    data = self.data.to(memory_format=layout)
                    self.learn(data)
                    write()
                    for _ in range(3):
                        self.check(data=data)

    def test_other_weights(self):
        """A residual of the sizes that the output had before."""
        model, other = uneven(Two(lambda model, x: torch.relu(model.conv(x[0]) + x[1]))), torch.randn(2, 10, 7, 5)
        groupops_torch.fuse(model)
        with within(), torch.no_grad():
            for _ in range(3):
                model(self.data, other)
            model.conv.weight.data = torch.randn(20, 6, 3, 3)
            model.conv.bias.data = torch.randn(20)
            for _ in range(2):
                with self.assertRaisesRegex(RuntimeError, "must match"):
                    model(self.data, other)

    def changed(self, model, change):
        """Of a model that was fused and learned."""
        self.assertGreater(groupops_torch.fuse(model), 0)
        with within(), torch.no_grad():
            for _ in range(3):
                self.check(model)
            change(model)
            for _ in range(3):
                self.check(model)

    def test_lists(self):
        """Modules that are called, in a list or a sequence that is not."""
        for kind in (nn.ModuleList, lambda modules: nn.Sequential(*modules), Lists.Own):
            for change in (
                lambda model: model.layers.__setitem__(1, nn.Conv2d(10, 5, 1)),
                lambda model: model.layers.append(nn.Conv2d(10, 5, 1)),
                lambda model: model.layers.__delitem__(1),
            ):
                self.changed(uneven(Lists(kind)), change)

    def test_content_of_attributes(self):
        """Of dictionaries, lists and sets that the forward reads; a list that is too long is not recorded."""
        def forward(model, x):
            return model.norm(model.conv(x)).relu() * model.setting["scale"][-1] * len(model.names)

        changes = {
            "number": lambda: self.model.setting["scale"].__setitem__(0, 3.0),
            "type": lambda: self.model.setting["scale"].__setitem__(0, 2),
            "element": lambda: self.model.setting["scale"].append(0.5),
            "key": lambda: self.model.setting.__setitem__("other", 1),
            "set": lambda: self.model.names.add("more"),
            "many": lambda: self.model.setting["scale"].extend(range(2000)),
        }
        for name, change in changes.items():
            self.model = uneven(Calls(forward))
            self.model.setting, self.model.names = {"scale": [2.0], "kinds": (int, None)}, {"one", "two"}
            with self.subTest(name), within():
                self.assertEqual(groupops_torch.fuse(self.model), 1)
                self.learn()
                change()
                self.check()
        self.assertEqual(groupops_torch.fuse(self.model), 0)

    def test_borrowed(self):
        """Parameters and buffers of modules that are called, or not, read by the forward."""
        for change in (
            lambda model: setattr(model.called, "weight", nn.Parameter(torch.randn(10, 10, 3, 3))),
            lambda model: setattr(model.called, "bias", None),
            lambda model: setattr(model.uncalled, "weight", nn.Parameter(torch.randn(10, 10, 3, 3))),
            lambda model: setattr(model.uncalled, "padding", (1, 1)),
            lambda model: model.called.weight.data.mul_(2),
        ):
            self.changed(uneven(Borrows()), change)

    def test_buffers(self):
        """What is computed of them alone."""
        for change in (
            lambda model: model.factor.fill_(3),
            lambda model: setattr(model, "factor", torch.tensor(3.0)),
            lambda model: setattr(model.norm, "running_mean", torch.rand(10)),
            lambda model: model.load_state_dict({**model.state_dict(), "factor": torch.tensor(3.0)}),
        ):
            self.changed(uneven(Buffered()), change)

    def test_tensors_of_attributes(self):
        """Whose elements the forward reads, or what it computes of them alone."""
        reads = {
            "element": lambda model: model.factor.item(),
            "sum": lambda model: model.factor + 1,
            "of a module that is called": lambda model: model.conv.factor.item() * model.conv.factor,
            "in a list": lambda model: model.factors[0].item(),
        }
        changes = (
            lambda tensor: tensor.fill_(3),
            lambda tensor: tensor.numpy().fill(3),
        )
        for name, read in reads.items():
            for change in changes[:1] if name == "in a list" else changes:  # there, those that PyTorch counts
                model = uneven(Calls(lambda model, x: model.norm(model.conv(x)).relu() * read(model)))
                tensor = model.factor = model.conv.factor = torch.tensor(1.5)
                model.factors = [tensor]
                with self.subTest(name):
                    self.changed(model, lambda model: change(tensor))
                    self.assertIs(model.factor, tensor)
        self.changed(model, lambda model: setattr(model, "factor", torch.tensor(3.0)))

    def test_functional_call(self):
        """With other tensors in place of what the record reads, or its modules."""
        for model in (uneven(Borrows()), uneven(Block())):
            groupops_torch.fuse(model)
            with within(), torch.no_grad():
                for _ in range(3):
                    model(self.data)
                for name, tensor in model.state_dict().items():
                    if not name.endswith("num_batches_tracked"):
                        with self.subTest(name):
                            other = {name: torch.rand(tensor.shape) + 0.1}
                            got = stateless.functional_call(model, other, (self.data,))
                            changed = copy.deepcopy(model)
                            changed.load_state_dict(other, strict=False)
                            self.assertTrue(torch.allclose(got, changed(self.data), rtol=1e-4, atol=1e-4))

    def test_training(self):
        with self.assertRaisesRegex(ValueError, "training"):
            groupops_torch.fuse(Block())
        with within():
            self.learn()
            self.model.train()
            before = self.model.bn1.running_mean.clone()
            self.model(self.data).sum().backward()
            self.assertIsNotNone(self.model.bn1.weight.grad)
            self.assertFalse(torch.equal(self.model.bn1.running_mean, before))
            self.model.eval()
            self.learn()
            self.model.bn2.train()
            before = self.model.bn2.running_mean.clone()
            with torch.no_grad():
                self.model(self.data)
            self.assertFalse(torch.equal(self.model.bn2.running_mean, before))

    def test_training_of_a_part(self):
        """The first call counts once, and decides nothing for those in evaluation."""
        self.model.bn2.train()
        with within(), torch.no_grad():
            for count in range(1, 4):
                self.model(self.data)
                self.assertEqual(self.model.bn2.num_batches_tracked, count)
            self.model.bn2.eval()
            self.learn()

    def test_gradients(self):
        with within():
            self.learn()
            self.model(self.data).sum().backward()
            self.assertIsNotNone(self.model.conv1.weight.grad)

    def test_hooks(self):
        seen = []
        outer = nn.Sequential(self.model, nn.ReLU())
        with within(), torch.no_grad():
            self.learn()
            for module in (self.model.bn1, self.model.relu, self.model, outer):
                hook = module.register_forward_hook(lambda *given: seen.append(1))
                outer(self.data)
                hook.remove()
            self.assertEqual(len(seen), 1 + 2 + 1 + 1)
            everywhere = nn.modules.module.register_module_forward_hook(lambda *given: seen.append(1))
            self.model(self.data)
            everywhere.remove()
            self.assertEqual(len(seen), 5 + 9)
            self.learn()

    def test_replaced_hooks(self):
        """On a sequence that the forward calls, after somebody put empty dictionaries in the place of its hooks'."""
        model, seen = uneven(Calls(lambda model, x: model.after(model.norm(model.conv(x))))), []
        model.after = nn.Sequential(nn.ReLU(), nn.Identity())
        self.changed(model, lambda model: setattr(model.after, "_forward_hooks", OrderedDict()))
        model.after.register_forward_hook(lambda *given: seen.append(1))
        with within(), torch.no_grad():
            model(self.data)
        self.assertEqual(seen, [1])

    def test_settings(self):
        threads = torch.get_num_threads()
        with within():
            for count in (1, 2):
                torch.set_num_threads(count)
                self.learn()
            torch.set_num_threads(threads)
            with within(pack_each_call=True):
                self.check()
            with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
                self.assertEqual(self.model.conv1(self.data).dtype, torch.bfloat16)
                self.model(self.data)
            self.learn()
            self.model.conv1.weight.data[0, 0, 0, 0] += 5
            groupops_torch.forget(self.model.conv1.weight)
            self.check()


class Life(Case):
    def test_copies(self):
        keys = list(self.model.state_dict())
        groupops_torch.fuse(self.model)
        with within():
            self.learn()
            for other in (copy.deepcopy(self.model), pickle.loads(pickle.dumps(self.model))):
                self.assertEqual(list(other.state_dict()), keys)
                self.assertIsNone(self.known(other))
                self.check(other)
                self.assertEqual(groupops_torch.fuse(other), 3)
                for _ in range(3):
                    self.check(other)
        self.assertEqual(list(self.model.state_dict()), keys)

    def test_classes(self):
        """Of each class the own forward, or none, is back when it is closed."""
        theirs = Block.forward
        model, other, further = self.model, uneven(Inherits()), uneven(Extends())
        for one in (model, other, further):
            self.assertEqual(groupops_torch.fuse(one), 3)
        for _ in range(2):
            with within():
                self.assertIsNot(Block.forward, theirs)
                for _ in range(3):
                    for one in (model, other, further, uneven(Block())):
                        self.check(one)
            self.assertIs(Block.forward, theirs)
            self.assertNotIn("forward", vars(Inherits))

    def test_replaced_forwards(self):
        """Of a model's class, or of one that it looked into, after fuse(): they are called."""
        class Inner(Calls):
            def forward(self, x):
                return self.norm(self.conv(x)).relu()

        class Outer(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner(None)

            def forward(self, x):
                return self.inner(x)

        for kind in (Inner, Outer):
            for inside in (False, True):
                self.model = uneven(Outer())
                theirs = kind.forward
                with self.subTest(kind=kind, inside=inside), torch.no_grad():
                    expected = self.model(self.data)
                    with within() if inside else contextlib.nullcontext():
                        groupops_torch.fuse(self.model)
                        self.model(self.data)
                    with unittest.mock.patch.object(kind, "forward", lambda model, x: 2 * theirs(model, x)), within():
                        for _ in range(3):
                            self.assertTrue(torch.allclose(self.model(self.data), 2 * expected, rtol=1e-4, atol=1e-4))
                    with within():
                        self.learn()
                self.assertIs(kind.forward, theirs)

    def test_replaced_inside(self):
        groupops_torch.fuse(self.model)
        theirs, other = Block.forward, lambda model, x: x
        with within():
            Block.forward = other
        self.assertIs(Block.forward, other)
        Block.forward = theirs

    def test_freed(self):
        groupops_torch.fuse(self.model)
        with within():
            self.learn()
            gone = [weakref.ref(one) for one in (self.known(), self.model, self.model.bn1, self.chains()[0].fold)]
            self.model = None
            gc.collect()
            self.assertEqual([reference() for reference in gone], [None] * 4)

    def test_threads(self):
        """Of residuals that the library adds, and others."""
        model = uneven(Two(lambda model, x: torch.relu(model.norm(model.conv(x[0])) + x[1])))
        groupops_torch.fuse(model)

        def work(number):
            for size in range(200):
                data, other = torch.randn(2, 6, 5 + size % 3, 7), torch.randn(2, 10, 5 + size % 3, 7)
                if number % 2:
                    other = other.to(memory_format=torch.channels_last)
                with torch.no_grad():
                    got, expected = model(data, other), torch.relu(model.norm(F.conv2d(
                        data, model.conv.weight, model.conv.bias, padding=1)) + other)
                self.assertTrue(torch.allclose(got, expected, rtol=1e-4, atol=1e-4), size)

        with within():
            self.assertEqual(support.in_threads(work, 4), [])

    def test_script(self):
        groupops_torch.fuse(self.model)
        with within(), torch.no_grad():
            self.learn()
            traced = torch.jit.trace(self.model, self.data, check_trace=False)
            scripted = torch.jit.script(self.model)
            recorded = torch.fx.symbolic_trace(self.model)
            other = torch.randn(1, 6, 9, 8)
            for one in (traced, scripted, recorded):
                self.assertTrue(torch.allclose(one(other), self.model(other), rtol=1e-4, atol=1e-4))
            self.assertEqual(groupops_torch.fuse(scripted), 0)


if __name__ == "__main__":
    support.main()
