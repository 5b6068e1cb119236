"""What is remembered of a module's calls holds only for calls that are alike."""

import copy
import gc
import io
import weakref

import support  # before all that imports torch

import torch
from torch import nn

import groupops_torch
from groupops_torch import override
from module_case import LAYOUT, Case
from support import served, within


def left():
    return groupops_torch.statistics()["left to PyTorch"]


class Remembered(Case):
    def test_served(self):
        for bias in (True, False):
            for axes, kind in {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}.items():
                module = kind(6, 10, 3, stride=2, padding=1, groups=2, bias=bias).eval()
                data = torch.randn(2, 6, *(7, 5, 6)[:axes])
                with torch.no_grad(), self.subTest(axes=axes, bias=bias):
                    expected = module(data)
                    with within():
                        module(data)
                        before = served()
                        self.assertEqual(self.asked(lambda: module(data)), 0)
                        self.assertEqual(served(), before + 1)
                        self.assertTrue(torch.allclose(module(data), expected, rtol=1e-4, atol=1e-5))

    def test_left(self):
        data = self.data.to(memory_format=LAYOUT)
        with torch.no_grad():
            expected = self.module(data)
            with within():
                self.learn(data)
                before = left()
                got = self.module(data)
                self.assertEqual(left(), before + 1)
        self.assertEqual(got.stride(), expected.stride())
        self.assertTrue(torch.equal(got, expected))

    def test_subclass_after_left(self):
        """Weights that become tensors of a class of their own after a call that was PyTorch's."""

        class Halved(torch.Tensor):
            @classmethod
            def __torch_function__(cls, function, types, args=(), kwargs=None):
                if function is torch.conv2d:
                    return function(*[2 * t.as_subclass(torch.Tensor) if type(t) is cls else t for t in args])
                with torch._C.DisableTorchFunction():
                    result = function(*args, **(kwargs or {}))
                return result.as_subclass(cls) if function is torch.Tensor.detach else result

        module, data = nn.Conv2d(8, 8, 1), torch.randn(1, 8, 1, 1)
        with torch.no_grad():
            with within():
                module(data)
                module.weight = nn.Parameter(module.weight.data.as_subclass(Halved))
                got = module(data)
            self.assertTrue(torch.allclose(got, module(data)))

    def test_converted(self):
        module = nn.Conv2d(70, 130, 3, padding=1).eval().to(memory_format=LAYOUT)
        data = torch.randn(2, 70, 7, 5).to(memory_format=LAYOUT)
        with torch.no_grad():
            expected = module(data)
            with within():
                module(data)
                before = served()
                self.assertEqual(self.asked(lambda: module(data)), 0)
                self.assertEqual(served(), before + 1)
                got = module(data)
        self.assertEqual(got.stride(), expected.stride())
        self.assertTrue(torch.allclose(got, expected, rtol=1e-4, atol=1e-4))

    def test_steps(self):
        data = torch.randn(2, 6, 7, 10)[..., ::2]
        with within():
            self.learn(data)
            self.check(data)

    def test_empty(self):
        """An empty batch has the strides of others, and changes nothing for them."""
        with within():
            self.check(self.data[:0])
            self.learn()
            self.check(self.data[:0])
            before = left()
            self.check()
            self.assertEqual(left(), before)

    def test_batches(self):
        """A layer that is too small for one image is none for several."""
        inputs = [torch.randn(count, 60, 3, 3) for count in (1, 5)]
        for first, second in (inputs, inputs[::-1]):
            self.module = nn.Conv2d(60, 40, 1).eval()
            with within():
                for data in (first, first, second, second, first, second):
                    self.check(data)
                    before = served()
                    with torch.no_grad():
                        self.module(data)
                    self.assertEqual(served() - before, int(data is inputs[1]))

    def test_other_inputs(self):
        """Of other sizes, strides and types, by turns; more than are remembered."""
        inputs = [torch.randn(1 + size % 3, 6, size, 20 - size) for size in range(3, 17)]
        inputs += [data.to(memory_format=LAYOUT) for data in inputs]
        inputs += [inputs[0].transpose(2, 3), inputs[0][0], torch.randn(2, 6, 40, 38)[:, :, ::2, 1::2]]
        with within():
            for data in inputs + inputs[::-1] + inputs[:1] * 3:
                self.check(data)

    def test_refused_inputs(self):
        with within(), torch.no_grad():
            self.learn()
            for wrong in (self.data[:, :5], self.data.bfloat16(), self.data.double(), self.data.to_sparse()):
                with self.assertRaises(Exception):
                    self.module(wrong)
            self.check()

    def test_weights(self):
        def other_state():
            self.module.load_state_dict(nn.Conv2d(6, 10, (3, 2), groups=2).state_dict())

        def own_weight(other):
            self.module.weight = nn.Parameter(other)

        weight = self.module.weight
        for name, write in {
            "load_state_dict": other_state,
            "in place": lambda: weight.mul_(3),
            "data.mul_": lambda: weight.data.mul_(3),
            "NumPy": lambda: weight.detach().numpy().__imul__(0.5),
            "data =": lambda: setattr(weight, "data", torch.randn(weight.shape)),
            "transposed": lambda: setattr(weight, "data", torch.randn(10, 3, 2, 3).transpose(2, 3)),
            "channels_last": lambda: self.module.to(memory_format=LAYOUT),
            "a part": lambda: setattr(weight, "data", torch.randn(10, 3, 3, 4)[..., 1:3]),
            "another": lambda: own_weight(torch.randn(10, 3, 2, 4)),
            "bias": lambda: self.module.bias.data.add_(1),
            "bias in steps": lambda: setattr(self.module, "bias", nn.Parameter(torch.randn(20)[::2])),
            "another bias": lambda: setattr(self.module, "bias", nn.Parameter(torch.randn(10))),
            "no bias": lambda: setattr(self.module, "bias", None),
        }.items():
            with within(), torch.no_grad(), self.subTest(name):
                self.check()
                self.check()
                write()
                self.check()
                self.check()

    def test_types(self):
        with within():
            self.learn()
            for dtype, rtol in ((torch.float64, 1e-4), (torch.bfloat16, 0.05), (torch.float32, 1e-4)):
                self.module.to(dtype)
                for _ in range(3):
                    self.check(self.data.to(dtype), rtol=rtol)
            self.module.half()
            with self.assertRaises(RuntimeError), torch.no_grad():
                self.module(self.data.half())

    def test_bias_of_another_type(self):
        self.module = nn.Conv2d(6, 10, 1).eval()
        for layout in (torch.contiguous_format, LAYOUT):
            data = self.data.to(memory_format=layout)
            with within(), torch.no_grad(), self.subTest(layout=layout):
                self.learn(data)
                self.module.bias = nn.Parameter(self.module.bias.double())
                for _ in range(2):
                    with self.assertRaises(RuntimeError):
                        self.module(data)
                self.module.bias = nn.Parameter(self.module.bias.float())

    def test_bias_of_another_size(self):
        with within(), torch.no_grad():
            self.learn()
            self.module.bias.data = torch.randn(9)
            with self.assertRaises(RuntimeError):
                self.module(self.data)

    def test_attributes(self):
        for data in (self.data, self.data.to(memory_format=LAYOUT)):
            for name, value in {
                "stride": (2, 1), "padding": (0, 2), "dilation": (1, 2), "groups": 1, "padding": "same",
            }.items():
                with within(), self.subTest(name):
                    self.setUp()
                    self.learn(data)
                    if name == "groups":
                        self.module.weight = nn.Parameter(torch.randn(10, 6, 3, 2))
                    setattr(self.module, name, value)
                    self.check(data)
            self.setUp()
            with within(), torch.no_grad():
                self.learn(data)
                self.module.padding_mode, self.module._reversed_padding_repeated_twice = "circular", [1, 1, 1, 1]
                got = self.module(data)
            self.assertTrue(torch.allclose(got, self.module(data), rtol=1e-4, atol=1e-4))

    def assign(self, name, value, data, known):
        """Inside within(): a sequence of a module that was assigned such an attribute, after calls if it is `known`."""
        self.module = nn.Conv2d(6, 10, (3, 2), padding=1, stride=(2, 1), groups=2)
        network = nn.Sequential(self.module, nn.ReLU())
        for _ in range(3 * known):
            self.module(data)
            network(data)
        setattr(self.module, name, value)
        return network

    def test_attributes_of_other_types(self):
        """One number for all axes; lists, of which an element is written."""
        for name, value in (("stride", 2), ("stride", [2, 1]), ("dilation", 2), ("padding", 1)):
            for layout in (torch.contiguous_format, LAYOUT):
                data = self.data.to(memory_format=layout)
                for known in (False, True):
                    with within(), torch.no_grad(), self.subTest(name, value=value, layout=layout, known=known):
                        network = self.assign(name, copy.copy(value), data, known)
                        for turn in range(6):
                            if turn == 3 and type(value) is list:
                                self.module.stride[1] = 3
                            self.check(data)
                            expected = self.module(data).relu()
                            self.assertTrue(torch.allclose(network(data), expected, rtol=1e-4, atol=1e-4))

    def test_refused_attributes(self):
        """Equal to what was remembered, but not of PyTorch's types."""
        for name, value in (("groups", 2.0), ("stride", (2.0, 1.0))):
            for layout in (torch.contiguous_format, LAYOUT):
                data = self.data.to(memory_format=layout)
                for known in (False, True):
                    with within(), torch.no_grad(), self.subTest(name, value=value, layout=layout, known=known):
                        network = self.assign(name, value, data, known)
                        for module in (self.module, network) * 2:
                            with self.assertRaises(TypeError):
                                module(data)

    def test_threads(self):
        threads = torch.get_num_threads()
        with within():
            for count in (1, 2, 1):
                torch.set_num_threads(count)
                self.check()
                self.learn()
                self.check()
        torch.set_num_threads(threads)

    def test_settings(self):
        """Weights that are packed each time; another accuracy; weights forgotten."""
        with within():
            self.learn()
            with within(pack_each_call=True):
                self.assertGreater(self.asked(self.check), 0)
            self.learn()
            with within(accuracy="relaxed"):
                self.learn()
            with within(accuracy="exact"):
                self.learn()
            groupops_torch.forget(self.module.weight)
            self.assertGreater(self.asked(self.check), 0)
            self.learn()

    def test_train_and_eval(self):
        network = nn.Sequential(self.module, nn.BatchNorm2d(10))
        with within():
            self.learn()
            network.train()
            (network(self.data) * torch.arange(10.0).reshape(10, 1, 1)).square().sum().backward()
            got = [p.grad.clone() for p in network.parameters()]
            with torch.no_grad():
                for p in network.parameters():
                    p.sub_(p.grad, alpha=1e-3)
            network.eval()
            self.check()
            network.zero_grad()
        self.assertGreater(got[0].abs().max(), 0)

    def test_gradients(self):
        for context in (torch.enable_grad, torch.no_grad):
            with within(), context():
                self.learn()
                self.assertEqual(self.module(self.data).requires_grad, context is torch.enable_grad)

    def test_many_threads_of_python(self):
        def run(size):
            for turn in range(60):
                self.check(torch.randn(1, 6, 5 + size, 4 + turn % 5))

        with within():
            self.assertEqual(support.in_threads(run, 5), [])


class Life(Case):
    def test_remembered_when_opened_again(self):
        with within():
            self.learn()
        self.module.weight.data.mul_(2)
        with within():
            self.check()
        for _ in range(2):
            with within(), torch.no_grad():
                self.assertEqual(self.asked(lambda: self.module(self.data)), 0)

    def test_forward_is_given_back(self):
        theirs = nn.Conv2d.forward
        with within():
            self.assertIsNot(nn.Conv2d.forward, theirs)
            with within():
                pass
            self.assertIsNot(nn.Conv2d.forward, theirs)
        self.assertIs(nn.Conv2d.forward, theirs)

    def test_copied_and_saved(self):
        with within():
            self.learn()
            other = copy.deepcopy(self.module)
            file = io.BytesIO()
            torch.save(self.module, file)
            file.seek(0)
            third = torch.load(file)
            with torch.no_grad():
                self.module.weight.zero_()
            for module in (self.module, other, third):
                self.check(module=module)
                self.check(module=module)

    def test_freed(self):
        with within():
            for _ in range(30):
                self.setUp()
                self.learn()
            gone = weakref.ref(self.module), weakref.ref(self.module.weight)
            self.module = None
            gc.collect()
            self.assertEqual([reference() for reference in gone], [None, None])
            self.assertEqual(len(override._modules._known), 0)

    def test_model_of_a_hook_is_freed(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(6, 10, 3)
                self.conv.register_forward_hook(self.seen)
                self.conv.model = [self]

            def seen(self, module, given, output):
                self.output = output

            def forward(self, x):
                return self.conv(x)

        with within(), torch.no_grad():
            for layout in (torch.contiguous_format, LAYOUT):
                model = Model()
                for _ in range(3):
                    model(self.data.to(memory_format=layout))
                gone = weakref.ref(model), weakref.ref(model.conv.weight)
                model = None
                gc.collect()
                self.assertEqual([reference() for reference in gone], [None, None])
                self.assertEqual(len(override._modules._known), 0)

    def test_forgotten(self):
        with within():
            self.learn()
            groupops_torch.forget()
            self.assertEqual(len(override._modules._known), 0)
            self.learn()

    def test_packed_weights_are_freed(self):
        with within():
            self.learn()
            call = override._modules._known[id(self.module)]
            self.assertIsNone(call.next)
            self.assertIsNotNone(call.entry.layer)
            self.module.weight = nn.Parameter(torch.randn(10, 3, 3, 2))
            gc.collect()
            self.assertIsNone(call.entry.layer)


if __name__ == "__main__":
    support.main()
