"""No packed filter outlives what it was packed from, whoever writes the weights, and how."""

import gc
import os
import signal
import tempfile
import threading
import unittest
from unittest import mock

import support  # before all that imports torch

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils import dlpack

import groupops_torch
from groupops_torch import kept, layers
from support import served, within

F = torch.nn.functional

# More elements than a fingerprint has, and not a multiple.
SHAPE = (26, 11, 3, 5)

# Seconds after which a process that hangs is ended.
PATIENCE = 120


class Case(unittest.TestCase):
    data = torch.randn(1, 4, 6, 7)

    def check(self, weight, data=None, groups=2, **settings):
        """The layer with the weights, by ours and by PyTorch."""
        data = self.data if data is None else data
        with torch.no_grad():
            expected = F.conv2d(data, weight, groups=groups)
            before = served()
            with within(**settings):
                got = F.conv2d(data, weight, groups=groups)
        self.assertGreater(served(), before, "it was left to PyTorch")
        self.assertTrue(torch.allclose(got, expected, rtol=1e-4, atol=1e-4))


class Versions(Case):
    """Writes that PyTorch counts, and other memory."""

    def test_packed_once(self):
        written = torch.empty(4, 2, 3, 3).normal_().mul_(2)
        module = torch.nn.Conv2d(4, 4, 3, groups=2)  # whose weights were written in place too
        for weight in (torch.randn(4, 2, 3, 3), written, module.weight):
            with mock.patch.object(layers, "convolution", side_effect=layers.convolution) as packed:
                for _ in range(3):
                    self.check(weight)
            self.assertEqual(packed.call_count, 1)

    def test_new_at_each_call(self):
        """Large weights that are gone after a call are not packed for it, once two of their form were; those that come
        again are."""
        size = (128, 16, 3, 3)  # more elements than are packed at any rate
        data = torch.randn(1, 16, 6, 7)
        kept_one = torch.randn(size)
        groupops_torch.forget()
        with torch.no_grad(), within():
            before = served()
            for _ in range(6):
                F.conv2d(data, torch.randn(size))
            self.assertEqual(served(), before + 2)
            for _ in range(4):
                F.conv2d(data, kept_one)
            self.assertEqual(served(), before + 5)  # but for its first call
            F.conv2d(data, torch.randn(size))
            self.assertEqual(served(), before + 6)  # as weights of the form come again
        with torch.inference_mode():
            of_inference = torch.randn(size)
        with torch.no_grad(), within():
            before = served()
            F.conv2d(data, of_inference)
            self.assertEqual(served(), before)

    def test_negative(self):
        """A view that is to be negated as it is read has another tensor's memory."""
        module = torch.nn.Sequential(torch.nn.Conv2d(4, 4, 3), torch.nn.ReLU())
        with torch.no_grad():
            for negate in (
                lambda: setattr(module[0].weight, "data", torch._neg_view(module[0].weight.data)),
                lambda: setattr(module[0], "bias", torch.nn.Parameter(torch._neg_view(module[0].bias.detach()))),
            ):
                with within():
                    for _ in range(3):
                        module(self.data)
                    negate()
                    got = [module(self.data) for _ in range(3)]
                expected = module(self.data)
                for one in got:
                    self.assertTrue(torch.allclose(one, expected, rtol=1e-4, atol=1e-4))

    def test_written_in_place(self):
        weight = torch.randn(4, 2, 3, 3)
        self.check(weight)
        weight.mul_(2)
        self.check(weight)
        weight[0] = 5
        self.check(weight)

    def test_other_memory(self):
        weight = torch.nn.Parameter(torch.randn(4, 2, 3, 3))
        for _ in range(5):  # the memory freed is what is taken next
            self.check(weight)
            weight.data = torch.randn(4, 2, 3, 3)

    def test_same_memory_seen_otherwise(self):
        weight = torch.nn.Parameter(torch.randn(4, 2, 3, 3))
        self.check(weight)
        weight.data = weight.data.transpose(2, 3)
        self.check(weight)
        weight.data = weight.data[:2]
        self.check(weight)

    def test_forget(self):
        weight = torch.randn(4, 2, 3, 3)
        self.check(weight)
        weight.data.mul_(3)
        groupops_torch.forget(weight)
        self.check(weight)

    def test_freed_and_made_again(self):
        for _ in range(50):
            self.check(torch.randn(4, 2, 3, 3))
        gc.collect()
        self.assertLess(groupops_torch.statistics()["layers"], 40)

    def test_inference_tensors(self):
        with torch.inference_mode():
            weight = torch.randn(4, 2, 3, 3)
            for _ in range(2):
                with within():
                    got = F.conv2d(self.data, weight, groups=2)
                self.assertTrue(torch.allclose(got, F.conv2d(self.data, weight, groups=2), rtol=1e-5, atol=1e-5))
                weight.mul_(2)

    def test_other_attributes_and_threads(self):
        weight = torch.randn(4, 2, 3, 3)
        threads = torch.get_num_threads()
        with torch.no_grad():
            for count in (1, 2):
                torch.set_num_threads(count)
                for stride in (1, 2):
                    expected = F.conv2d(self.data, weight, stride=stride, groups=2)
                    with within():
                        got = F.conv2d(self.data, weight, stride=stride, groups=2)
                    self.assertTrue(torch.allclose(got, expected, rtol=1e-5, atol=1e-5))
        torch.set_num_threads(threads)

    def test_many_attributes(self):
        """Not all of the packed weights are kept; others have no part in that."""
        weight, other = torch.randn(4, 2, 3, 3), torch.randn(4, 2, 3, 3)
        with torch.no_grad(), within():
            F.conv2d(self.data, other, groups=2)
            before = groupops_torch.statistics()["layers"]
            for turn in range(30):
                settings = {"groups": 2, "padding": (turn % 15, turn // 15)}
                got = F.conv2d(self.data, weight, **settings)
                expected = F.conv2d(self.data.double(), weight.double(), **settings)
                self.assertTrue(torch.allclose(got.double(), expected, rtol=1e-4, atol=1e-4))
            self.assertEqual(groupops_torch.statistics()["layers"], before + kept.OF_A_WEIGHT)
            with mock.patch.object(layers, "convolution", side_effect=AssertionError):
                F.conv2d(self.data, other, groups=2)
                F.conv2d(self.data, weight, **settings)

    def test_many_shapes(self):
        weight = torch.randn(4, 2, 3, 3)
        for size in range(5, 60):
            data = torch.randn(1 + size % 3, 4, size, 64 - size)
            with torch.no_grad(), within():
                got = F.conv2d(data, weight, groups=2)
            self.assertTrue(torch.allclose(got, F.conv2d(data, weight, groups=2), rtol=1e-4, atol=1e-4))


def in_this_thread(write):
    write()


def in_another_thread(write):
    thread = threading.Thread(target=write)
    thread.start()
    thread.join()


def _set_data(weight, values):
    weight.data = values


# Ways to write a weight, of which PyTorch counts the first two and set_().
WRITES = {
    "copy_": lambda weight, values: weight.copy_(values),
    "zero_": lambda weight, values: weight.zero_(),
    "data.copy_": lambda weight, values: weight.data.copy_(values),
    "data.zero_": lambda weight, values: weight.data.zero_(),
    "data =": _set_data,
    "set_": lambda weight, values: weight.set_(values),
    "a NumPy view": lambda weight, values: weight.numpy().__setitem__(..., values.numpy()),
    "storage().fill_": lambda weight, values: weight.storage().fill_(0.75),
    "storage().copy_": lambda weight, values: weight.storage().copy_(values.storage()),
    "DLPack": lambda weight, values: dlpack.from_dlpack(dlpack.to_dlpack(weight)).copy_(values),
    "doubled by NumPy": lambda weight, values: weight.numpy().__imul__(2),
    "negated by .data": lambda weight, values: weight.data.neg_(),
}


class Writes(Case):
    data = torch.randn(2, 11, 7, 9)

    def test_each_way(self):
        layouts = {
            "contiguous": lambda: torch.randn(SHAPE),
            "permuted": lambda: torch.randn(SHAPE[::-1]).permute(3, 2, 1, 0),
            "a part": lambda: torch.randn(26, 11, 3, 9)[..., 2:7],
            "small": lambda: torch.randn(3, 11, 1, 2),
        }
        for layout, make in layouts.items():
            for name, write in WRITES.items():
                if layout != "contiguous" and name.startswith("storage"):
                    continue  # it writes more than the weight, or in another order
                for where in (in_this_thread, in_another_thread):
                    with self.subTest(layout=layout, write=name, where=where.__name__):
                        weight = make()
                        self.check(weight, groups=1)
                        was = weight.clone()
                        with torch.no_grad():
                            where(lambda: write(weight, torch.randn(weight.shape)))
                        self.assertFalse(torch.equal(weight, was))
                        self.check(weight, groups=1)

    def test_of_every_type(self):
        for dtype in (torch.float64, torch.bfloat16):
            with self.subTest(dtype=dtype), torch.no_grad():
                weight, data = torch.randn(SHAPE).to(dtype), self.data.to(dtype)
                for value in (0.5, 0.25):
                    with within():
                        got = F.conv2d(data, weight)
                    expected = F.conv2d(data.double(), weight.double())  # by AVX2 PyTorch's bf16 has larger errors
                    self.assertTrue(torch.allclose(got.double(), expected, rtol=0.05, atol=0.5))
                    weight.data.fill_(value)

    def test_while_another_thread_packs(self):
        """A write that begins when the version was read, before the weights are packed or after."""
        pack = layers.convolution
        for name in ("zero_", "data.zero_"):
            for before in (True, False):
                weight = torch.randn(SHAPE)
                write = WRITES[name]

                def packing(*given):
                    if before:
                        in_another_thread(lambda: write(weight, None))
                    layer = pack(*given)
                    if not before:
                        in_another_thread(lambda: write(weight, None))
                    return layer

                with self.subTest(write=name, before=before):
                    with within(), torch.no_grad(), mock.patch.object(layers, "convolution", packing):
                        F.conv2d(self.data, weight)
                    self.check(weight, groups=1)

    def unseen(self):
        """A weight that was packed, and an element of it that is none of its fingerprint's."""
        weight = torch.zeros(SHAPE)
        fingerprint = kept._Fingerprint(weight)
        before = fingerprint.read()
        for index in range(weight.numel()):
            weight.data.view(-1)[index] = 1
            if fingerprint.read() == before:
                self.check(weight, groups=1)
                weight.data.view(-1)[index] = 9
                return weight
            weight.data.view(-1)[index] = 0
        self.fail("the fingerprint reads every element")

    def test_forget(self):
        weight = self.unseen()
        groupops_torch.forget(weight)
        self.check(weight, groups=1)
        weight = self.unseen()
        groupops_torch.forget()
        self.check(weight, groups=1)

    def test_packed_at_each_call(self):
        weight = self.unseen()
        expected = F.conv2d(self.data, weight)
        with within(), within(pack_each_call=True):
            self.assertTrue(torch.allclose(F.conv2d(self.data, weight), expected, rtol=1e-4, atol=1e-4))
        before = groupops_torch.statistics()["layers"]
        self.check(torch.randn(SHAPE), groups=1, pack_each_call=True)
        self.assertEqual(groupops_torch.statistics()["layers"], before)

    def test_old_storage_is_given_back_at_once(self):
        weight = torch.nn.Parameter(torch.randn(SHAPE))
        self.check(weight, groups=1)
        old = StorageWeakRef(weight.storage())
        self.assertFalse(old.expired())
        weight.data = torch.randn(SHAPE)
        self.assertTrue(old.expired())
        self.check(weight, groups=1)


def _train(weight):
    """In another process: a step of SGD."""
    loss = F.conv2d(Writes.data, weight).square().mean()
    loss.backward()
    torch.optim.SGD([weight], lr=0.5).step()


def _broadcast(path, rank, weight):
    """The other process's weights become rank 0's."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.distributed.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=2)
    torch.distributed.broadcast(weight.detach(), src=0)
    torch.distributed.destroy_process_group()


class Processes(Case):
    data = Writes.data

    def other_process(self, function, *given):
        process = torch.multiprocessing.get_context("spawn").Process(target=function, args=given)
        process.start()
        return process

    def ended(self, process):
        process.join(PATIENCE)
        self.assertEqual(process.exitcode, 0)

    def test_trained_by_another(self):
        weight = torch.nn.Parameter(torch.randn(SHAPE))
        weight.share_memory_()
        self.check(weight, groups=1)
        was = weight.detach().clone()
        self.ended(self.other_process(_train, weight))
        self.assertFalse(torch.equal(weight, was))
        self.check(weight, groups=1)

    def test_shared_after_packing(self):
        """share_memory_() moves the weights: same tensor, same storage, another address."""
        weight = torch.nn.Parameter(torch.randn(SHAPE))
        self.check(weight, groups=1)
        weight.share_memory_()
        self.check(weight, groups=1)

    def test_broadcast(self):
        if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
            self.skipTest("this PyTorch has no gloo")
        weight = torch.nn.Parameter(torch.randn(SHAPE))
        self.check(weight, groups=1)
        was, version = weight.detach().clone(), weight._version
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "meeting")
            process = self.other_process(_broadcast, path, 0, torch.randn(SHAPE))
            _broadcast(path, 1, weight)
            self.ended(process)
        self.assertFalse(torch.equal(weight, was))
        self.check(weight, groups=1)

    def test_fork_while_a_weight_is_packed(self):
        """The child has the locks as another thread held them, but not the thread."""
        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # a child has none of OpenMP's threads either
        pack, weight = layers.convolution, torch.randn(SHAPE)
        packing, done = threading.Event(), threading.Event()

        def slowly(*given):
            with groupops_torch.override._lock, groupops_torch.override._kept._lock:
                packing.set()
                done.wait(PATIENCE)
            return pack(*given)

        def call():
            with torch.no_grad(), within():
                F.conv2d(self.data, weight)

        with mock.patch.object(layers, "convolution", slowly):
            thread = threading.Thread(target=call)
            thread.start()
            self.assertTrue(packing.wait(PATIENCE))
            child = os.fork()
        if child == 0:
            self.child()
        _, status = os.waitpid(child, 0)
        done.set()
        thread.join()
        torch.set_num_threads(threads)
        self.assertEqual(status, 0)

    def child(self):
        status = 1
        try:
            layers.convolution = _PACK
            signal.alarm(PATIENCE)
            self.check(torch.randn(SHAPE), groups=1)
            status = 0
        finally:
            os._exit(status)


_PACK = layers.convolution

if __name__ == "__main__":
    support.main()
