"""A convolution, its batch normalization and its activation as one call: the values, and when it is made anew."""

import copy
import gc
import unittest
import unittest.mock
import weakref

import support  # before all that imports torch

import torch
from torch import nn
from torch.nn import functional as F

import groupops_torch
from graph_models import uneven
from groupops_torch import chain, fold, kept, override
from support import LAYOUTS, within

chain.MIN_FOLDED = 0  # so that the small outputs of tests are folded, too

ACTIVATIONS = (
    nn.ReLU(), nn.ReLU(inplace=True), nn.ReLU6(), nn.Hardtanh(-0.75, 0.5), nn.LeakyReLU(0.3), nn.Sigmoid(), nn.Hardswish(),
    nn.SiLU(inplace=True), nn.Hardsigmoid(),
)


def one_by_one(network, data):
    for module in network:
        data = module(data)
    return data


class Case(unittest.TestCase):
    def setUp(self):
        self.network = nn.Sequential(
            nn.Conv2d(6, 10, (3, 2), padding=1, groups=2), uneven(nn.BatchNorm2d(10)), nn.ReLU(), nn.Conv2d(10, 7, 1)
        ).eval()
        self.data = torch.randn(2, 6, 7, 5)

    def chain(self):
        return override._sequences._known[id(self.network.__dict__)][2][0]

    def check(self, data=None, network=None):
        """Inside within(): the network's output, which its modules have one by one."""
        data, network = self.data if data is None else data, network or self.network
        with torch.no_grad():
            counts = support.counted()
            got = network(data)
            self.counted = counts()
            expected = one_by_one(copy.deepcopy(network).double(), data.double())
        self.assertEqual((got.shape, got.dtype), (expected.shape, data.dtype))
        self.assertTrue(torch.allclose(got.double(), expected, rtol=1e-4, atol=1e-4))
        return got

    def learn(self, data=None):
        for _ in range(2):
            self.check(data)
        self.assertTrue(self.chain().fold.is_usable, "the modules were called one by one")


class Values(Case):
    def test_each_kind(self):
        for activation in (None, *ACTIVATIONS):
            for affine, bias in ((True, False), (False, True)):
                for axes, (conv, batch_norm) in enumerate(
                    ((nn.Conv1d, nn.BatchNorm1d), (nn.Conv2d, nn.BatchNorm2d), (nn.Conv3d, nn.BatchNorm3d)), 1
                ):
                    modules = [conv(6, 10, 3, stride=2, padding=1, groups=2, bias=bias), uneven(batch_norm(10, affine=affine))]
                    self.network = nn.Sequential(*modules, *([] if activation is None else [activation])).eval()
                    for layout in LAYOUTS if axes == 2 else LAYOUTS[:1]:
                        data = torch.randn(2, 6, *(7, 5, 6)[:axes]).to(memory_format=layout)
                        with self.subTest(activation=activation, axes=axes, affine=affine, layout=layout), within():
                            self.learn(data)
                            got = self.check(data)
                            self.assertEqual(
                                self.counted["convolution" if layout is LAYOUTS[0] else "left to PyTorch"], 1)
                        self.assertEqual(got.stride(), one_by_one(self.network, data).stride())

    def test_without_normalization(self):
        self.network = nn.Sequential(nn.Conv2d(6, 10, 3, groups=2), nn.SiLU())
        with within():
            self.learn()
            for layout in LAYOUTS:
                for _ in range(3):
                    self.check(self.data.to(memory_format=layout))

    def test_converted(self):
        self.network = nn.Sequential(nn.Conv2d(70, 130, 3, padding=1), uneven(nn.BatchNorm2d(130)), nn.Hardswish()).eval()
        data = torch.randn(2, 70, 7, 5).to(memory_format=torch.channels_last)
        with within():
            self.learn(data)
            got = self.check(data)
            self.assertEqual(self.counted["convolution"], 1)
        self.assertEqual(got.stride(), one_by_one(self.network, data).stride())

    def test_other_inputs(self):
        inputs = [torch.randn(1 + size % 3, 6, size, 20 - size) for size in range(3, 15)]
        inputs += [data.to(memory_format=torch.channels_last) for data in inputs]
        inputs += [torch.randn(2, 6, 20, 38)[:, :, ::2, 1::2]]
        with within():
            for data in inputs + inputs[::-1] + inputs[:1] * 3:
                self.check(data)

    def test_batches(self):
        """A layer that is too small for one image is none for several."""
        self.network = nn.Sequential(nn.Conv2d(60, 40, 1), uneven(nn.BatchNorm2d(40)), nn.ReLU()).eval()
        inputs = [torch.randn(count, 60, 3, 3) for count in (1, 5)]
        with within():
            for data in (*inputs, *inputs, *inputs[::-1]):
                self.check(data)
                self.assertEqual(self.counted["convolution"], int(data is inputs[1]))

    def test_small_outputs(self):
        """Those of PyTorch's are not worth folding."""
        with within(), unittest.mock.patch.object(chain, "MIN_FOLDED", 2 * 10 * 9 * 7 + 1):
            for layout, folded in zip(LAYOUTS, (True, False)):
                self.setUp()
                for _ in range(3):
                    self.check(self.data.to(memory_format=layout))
                self.assertEqual(self.chain().fold is not None, folded)
            self.setUp()
            self.learn(torch.cat([self.data] * 2).to(memory_format=LAYOUTS[1]))

    def test_heirs(self):
        """Of a class of PyTorch's, with its forward or one of their own."""
        class Heir(nn.Conv2d):
            pass

        class Other(nn.Conv2d):
            def forward(self, data):
                return super().forward(2 * data)

        class Called(nn.Conv2d):
            def __call__(self, data):
                return super().__call__(2 * data)

        for kind, chains in ((Heir, 1), (Other, 0), (Called, 0)):
            self.network = nn.Sequential(kind(6, 10, 3), uneven(nn.BatchNorm2d(10)), nn.ReLU()).eval()
            with within():
                for _ in range(3):
                    self.check()
                found = override._sequences._known[id(self.network.__dict__)][2] or []
            self.assertEqual(sum(type(step) is chain.Chain for step in found), chains)

    def test_own_order(self):
        """An heir of nn.Sequential that goes through its modules in another one; also where it is assigned later."""
        class Reversed(nn.Sequential):
            def __iter__(self):
                return reversed([*self._modules.values()])

        self.network = nn.Sequential(nn.Conv2d(6, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 6, 3)).eval()
        for kind in (Reversed, nn.Sequential, Reversed):
            self.network.__class__ = kind
            with within():
                for _ in range(3):
                    self.check()

    def test_empty(self):
        """An empty batch has the strides of others, and changes nothing for them."""
        with within():
            self.check(self.data[:0])
            self.learn()
            self.check(self.data[:0])
            self.check()
            self.assertEqual(self.counted["convolution"], 1)

    def test_types(self):
        with within():
            self.learn()
            self.network.double()
            for _ in range(3):
                self.check(self.data.double())
            self.assertEqual(self.chain().fold.bias.dtype, torch.float64)
            self.network[0].float()
            for _ in range(2):
                with self.assertRaises(RuntimeError):
                    self.check(self.data)

    def test_factors_out_of_range(self):
        """Weights that would overflow or vanish with them are not folded."""
        for name, value in (("running_var", 1e30), ("weight", 1e20), ("weight", float("nan")), ("bias", float("inf"))):
            self.setUp()
            with within(), torch.no_grad(), self.subTest(name=name, value=value):
                self.learn()
                getattr(self.network[1], name)[3] = value
                for _ in range(2):
                    got = self.network(self.data)
                    self.assertFalse(self.chain().fold.is_usable)
                expected = one_by_one(self.network, self.data)
                self.assertTrue(torch.allclose(got, expected, rtol=1e-4, atol=1e-4, equal_nan=True))

    def test_weights_out_of_range(self):
        """Weights that would vanish or overflow, though their factors are in range; those that are 0 or subnormal are
        no reason."""
        for weight, variance, is_usable in ((1e-34, 1e18, False), (1e36, 1e-20, False), (0, 1, True), (1e-40, 1, True)):
            self.setUp()
            with within(), torch.no_grad(), self.subTest(weight=weight, variance=variance):
                self.network = self.network[:3]
                self.network[0].weight[3] = weight
                self.network[1].running_var[3] = variance
                self.network[1].eps = 0.0
                data = self.data.abs() if is_usable else self.data.abs() / weight
                with unittest.mock.patch.object(fold, "make", side_effect=fold.make) as made:
                    for _ in range(4):
                        got = self.network(data)
                self.assertEqual(made.call_count, 1)
                self.assertEqual(self.chain().fold.is_usable, is_usable)
                self.assertTrue(torch.allclose(got, one_by_one(self.network, data), rtol=1e-4, atol=0))


class MadeAnew(Case):
    def test_writes(self):
        other = copy.deepcopy(self.network)
        with torch.no_grad():
            for p in other.parameters():
                p.uniform_(-1, 1)

        def replace(index, module):
            self.network[index] = module

        def train():
            self.network.train()(2 * self.data + 1)
            self.network.eval()

        for layout in LAYOUTS:
            data = self.data.to(memory_format=layout)
            writes = {
                "state": lambda: self.network.load_state_dict(other.state_dict()),
                "training": train,
                "epsilon": lambda: setattr(self.network[1], "eps", 0.5),
                "another norm": lambda: replace(1, uneven(nn.BatchNorm2d(10))),
                "another activation": lambda: replace(2, nn.Sigmoid()),
                "no norm": lambda: replace(1, nn.Identity()),
                "another weight": lambda: setattr(self.network[0], "weight", nn.Parameter(torch.randn(10, 3, 2, 2))),
                "no bias": lambda: setattr(self.network[0], "bias", None),
                "stride": lambda: setattr(self.network[0], "stride", (1, 2)),
                "same": lambda: setattr(self.network[0], "padding", "same"),
                "a module more": lambda: self.network.append(nn.Conv2d(7, 5, 1)),
            }
            for at, name in ((0, "weight"), (0, "bias"), (1, "weight"), (1, "bias"), (1, "running_mean"), (1, "running_var")):
                writes.update(
                    support.writes(f"{at} {name}", lambda at=at, name=name: getattr(self.network[at], name)))
            for name, write in writes.items():
                self.setUp()
                with within(), torch.no_grad(), self.subTest(name, layout=layout):
                    self.learn(data)
                    write()
                    for _ in range(3):
                        self.check(data)

    def test_activation(self):
        self.network[2] = nn.Hardtanh(-0.5, 0.5)
        with within():
            self.learn()
            self.network[2].max_val = 0.1
            self.check()

    def test_bounds_of_relu6(self):
        """It is a Hardtanh, and its bounds are attributes."""
        module = nn.Sequential(nn.Conv2d(8, 8, 3), nn.ReLU6()).eval()
        data = 5 * torch.randn(1, 8, 9, 9)
        with torch.no_grad(), within():
            for most in (6.0, 1.0, 2.5):
                module[1].max_val = most
                for _ in range(3):
                    self.assertEqual(module(data).max().item(), most)

    def test_numbers_of_activations(self):
        """Tensors that are written, and what PyTorch refuses."""
        slope = torch.tensor(0.3)
        parameter = nn.Parameter(torch.tensor(0.3))
        for activation in (
            nn.LeakyReLU(slope), nn.LeakyReLU(parameter), nn.LeakyReLU(1e300), nn.LeakyReLU(10**400), nn.LeakyReLU(1j),
            nn.LeakyReLU(2), nn.LeakyReLU(True), nn.Hardtanh(-1, 1e300), nn.Hardtanh(-1, 3),
        ):
            self.network[2] = activation
            with within(), self.subTest(activation=activation):
                self.same(self.data)
                slope.fill_(0.7)
                self.same(self.data)

    def test_threads_and_settings(self):
        threads = torch.get_num_threads()
        with within():
            for count in (1, 2):
                torch.set_num_threads(count)
                self.learn()
            torch.set_num_threads(threads)
            with within(pack_each_call=True):
                self.check()
            self.learn()
            for layout in LAYOUTS:
                data = self.data.to(memory_format=layout)
                self.learn(data)
                with unittest.mock.patch.object(kept.Entry, "is_valid_for", return_value=True):
                    self.network[0].weight.data.mul_(3)
                    with within(pack_each_call=True):
                        self.check(data)
            self.network[0].weight.data[0, 0, 0, 0] += 5
            groupops_torch.forget(self.network[0].weight)
            self.check()
            self.learn()

    def test_hooks(self):
        seen = []
        with within():
            self.learn()
            for module in self.network[:3]:
                hook = module.register_forward_hook(lambda *given: seen.append(1))
                with torch.no_grad():
                    self.network(self.data)
                hook.remove()
            everywhere = nn.modules.module.register_module_forward_hook(lambda *given: seen.append(1))
            with torch.no_grad():
                self.network(self.data)
            everywhere.remove()
            self.check()
        self.assertEqual(len(seen), 3 + 5)

    def test_own_forward(self):
        with within(), torch.no_grad():
            self.learn()
            self.network[1].forward = lambda data: data + 100
            self.assertGreater(self.network(self.data).abs().max().item(), 10)

    def test_gradients(self):
        with within():
            self.learn()
            self.network(self.data).sum().backward()
            self.assertIsNotNone(self.network[1].weight.grad)
            self.network.zero_grad(set_to_none=True)
            self.network.train()
            before = self.network[1].running_mean.clone()
            with torch.no_grad():
                self.network(self.data)
            self.assertFalse(torch.equal(self.network[1].running_mean, before))

    def test_own_statistics(self):
        """A normalization by the batch's own moments, in evaluation too, is not folded."""
        self.network[1] = nn.BatchNorm2d(10, track_running_stats=False).eval()
        with within():
            for _ in range(3):
                self.check()

    def same(self, data):
        """Inside within(): twice, what the modules give or raise one by one."""
        def run(network):
            try:
                return network(data)
            except (RuntimeError, TypeError, OverflowError) as refusal:
                return str(refusal)

        with torch.no_grad():
            for _ in range(2):
                got, expected = run(self.network), run(lambda data: one_by_one(self.network, data))
                self.assertEqual(type(got), type(expected))
                if isinstance(got, str):
                    self.assertEqual(got, expected)
                else:
                    self.assertEqual(got.dtype, expected.dtype)
                    self.assertEqual((got.shape, got.stride()), (expected.shape, expected.stride()))
                    self.assertTrue(torch.allclose(got, expected, rtol=1e-4, atol=1e-4))

    def test_other_weights(self):
        """Whose type, sizes or layout are not those that a call was decided by."""
        def parameter(at, name, *sizes):
            setattr(self.network[at], name, nn.Parameter(torch.randn(*sizes)))

        changes = {
            "type": lambda: self.network.double(),
            "output channels": lambda: parameter(0, "weight", 20, 3, 3, 2),
            "input channels": lambda: parameter(0, "weight", 10, 6, 3, 2),
            "bias": lambda: parameter(0, "bias", 1),
            "axes of the bias": lambda: setattr(self.network[0].bias, "data", self.network[0].bias.data.view(10, 1)),
            "layout": lambda: self.network.to(memory_format=torch.channels_last),
        }
        for norm in (None, uneven(nn.BatchNorm2d(10))):
            for layout in LAYOUTS:
                data = self.data.to(memory_format=layout)
                for name, change in changes.items():
                    modules = (nn.Conv2d(6, 10, (3, 2), padding=1, groups=2), copy.deepcopy(norm), nn.ReLU())
                    self.network = nn.Sequential(*(one for one in modules if one is not None)).eval()
                    with within(), self.subTest(name, norm=norm, layout=layout):
                        for _ in range(3):
                            self.check(data)
                        change()
                        self.same(data)

    def test_norm_of_other_channels(self):
        for channels, of_norm in ((10, 1), (1, 10), (10, 5)):
            self.network = nn.Sequential(nn.Conv2d(6, channels, 3), uneven(nn.BatchNorm2d(of_norm)), nn.ReLU()).eval()
            for layout in LAYOUTS:
                with within(), self.subTest(channels=channels, of_norm=of_norm, layout=layout):
                    self.same(self.data.to(memory_format=layout))
                    self.same(self.data.to(memory_format=layout))

    def test_refused_inputs(self):
        with within(), torch.no_grad():
            self.learn()
            for wrong in (self.data[0], self.data[:, :5], self.data.double()):
                for _ in range(2):
                    with self.assertRaises(Exception) as ours:
                        self.network(wrong)
                    with self.assertRaises(type(ours.exception)) as theirs:
                        one_by_one(self.network, wrong)
                    self.assertEqual(str(ours.exception), str(theirs.exception))


class Life(Case):
    def test_remembered_when_opened_again(self):
        with within():
            self.learn()
            made = self.chain().fold
        with within():
            self.check()
            self.assertIs(self.chain().fold, made)
        self.network[1].running_mean.numpy().fill(0.5)
        with within():
            self.check()

    def test_forward_is_given_back(self):
        theirs = nn.Sequential.forward
        with within():
            self.assertIsNot(nn.Sequential.forward, theirs)
        self.assertIs(nn.Sequential.forward, theirs)

    def test_replaced_functions(self):
        """Of PyTorch's, before enabled(): they are called."""
        for where, name in (
            (nn.Conv2d, "forward"), (nn.Conv2d, "_conv_forward"), (F, "conv2d"), (nn.BatchNorm2d, "forward"),
            (F, "batch_norm"), (nn.ReLU, "forward"), (F, "relu"), (nn.Module, "__call__"), (nn.Sequential, "forward"),
        ):
            self.setUp()
            with within():
                self.learn()
            theirs, calls = getattr(where, name), []

            def replaced(*given, **named):
                calls.append(name)
                return theirs(*given, **named)

            patched = unittest.mock.patch.object(where, name, replaced)
            with self.subTest(where=where, name=name), patched, torch.no_grad():
                self.network(self.data)
                expected = len(calls)
                with within():
                    for _ in range(3):
                        self.network(self.data)
                self.assertEqual(len(calls), 4 * expected)
            with within():
                self.learn()

    def test_replaced_inside(self):
        """A forward of somebody else's that took the place of ours stays, and may call ours for ever."""
        for kind in (nn.Conv2d, nn.Sequential):
            theirs = kind.forward
            with within():
                self.learn()
                ours = kind.forward
                kind.forward = other = lambda module, data: ours(module, data)
            try:
                self.assertIs(kind.forward, other)
                with torch.no_grad():
                    counts = support.counted()
                    self.network(self.data)
                    self.assertEqual(counts()["convolution"], 0)
                with within():
                    for _ in range(3):
                        self.check()
            finally:
                kind.forward = theirs

    def test_script(self):
        with within(), torch.no_grad():
            self.learn()
            traced = torch.jit.trace(self.network, self.data, check_trace=False)
            scripted = torch.jit.script(self.network)
        other = torch.randn(1, 6, 9, 8)
        for one in (traced, scripted):
            self.assertTrue(torch.allclose(one(other), self.network(other), rtol=1e-4, atol=1e-4))

    def test_recorded(self):
        """By torch.fx, also after a call that was too small."""
        self.network = nn.Sequential(nn.Conv2d(6, 10, 1), nn.ReLU())
        with within(), torch.no_grad():
            self.check(self.data[..., :1, :1])
            self.assertIsNotNone(self.chain().small)
            recorded = torch.fx.symbolic_trace(self.network)
            self.assertTrue(torch.allclose(recorded(self.data), self.network(self.data), rtol=1e-4, atol=1e-4))

    def test_freed(self):
        with within():
            self.learn()
            made = weakref.ref(self.chain().fold)
            gone = [weakref.ref(module) for module in self.network]
            self.network = None
            gc.collect()
            self.assertEqual([reference() for reference in (made, *gone)], [None] * 5)
            self.assertEqual(len(override._sequences._known), 0)

    def test_packed_weights_are_freed(self):
        """Those of many activations, and those of an earlier fold that no call took since."""
        self.network = self.network[:3]
        self.network[2] = nn.LeakyReLU()
        with within():
            for turn in range(20):
                self.network[2].negative_slope = turn / 10
                self.check()
            self.assertEqual(len(self.chain().fold.layers), fold.LAYERS)
            other = torch.randn(2, 6, 9, 8)
            self.learn(other)
            packed = [weakref.ref(layer) for layer in self.chain().fold.layers.values()]
            with torch.no_grad():
                self.network[0].weight.mul_(2)
            self.check(other)
            gc.collect()
            self.assertEqual([one() for one in packed], [None] * len(packed))

    def test_forgotten(self):
        """With what leads back to the model."""
        self.network[0].model = [self.network]
        with within():
            self.learn()
            gone = weakref.ref(self.network)
            self.network = None
            groupops_torch.forget()
            gc.collect()
            self.assertIsNone(gone())

    def test_split(self):
        conv, batch, relu = nn.Conv2d(2, 2, 1), nn.BatchNorm2d(2), nn.ReLU()
        for modules, sizes in (
            ([conv, batch, relu], [3]), ([conv, relu, batch], [2, 1]), ([conv], [1]), ([relu, conv, batch, batch], [1, 2, 1]),
            ([conv, nn.BatchNorm1d(2), relu], [1, 1, 1]), ([conv, conv, relu, relu], [1, 2, 1]),
        ):
            steps = chain.split(modules, None)
            found = [step.modules if type(step) is chain.Chain else (step,) for step in steps]
            self.assertEqual([len(one) for one in found], sizes)
            self.assertEqual([module for one in found for module in one], modules)


if __name__ == "__main__":
    support.main()
