"""A cache of layers by their weights, bounded, in which no packed filter is out of date.

A packed filter is a copy of the weights, so it must not outlive a write to them. An entry belongs to
a tensor object and to its storage (weak references: an entry keeps no memory of the weights alive),
and is valid for the version that PyTorch counts for its writes in place. Writes that PyTorch does not
count (`.data`, a NumPy array that shares the memory, another process) show in a fingerprint: some
elements spread over the weights, compared at each call. Version and fingerprint are taken
before the packing, so that a write during it makes the next call pack again.
"""

import ctypes
import os
import threading
import weakref
from collections import OrderedDict
from math import gcd
from operator import itemgetter

from torch.multiprocessing.reductions import StorageWeakRef

# How many layers are cached: more than any network has.
CAPACITY = 2048

# How many of them may have the same weights: each has a copy. A caller that goes through more paddings or numbers of
# threads than that by turns packs at each call.
OF_A_WEIGHT = 8

# After so many weights of a form that died before a second call the next one is not packed at its first, if it has
# so many elements: to pack these takes 3 to 4 ns each, 590,000 of a 3x3 layer on 14x14 twice the layer's time.
FLEETING, FLEETING_ELEMENTS = 2, 2**14

# Elements of a fingerprint; smaller weights are compared whole. Fewer would miss more: of layers of up to 256
# channels each channel has one. They are seldom in the caches: with 64 of them networks would take 1% less
# (Intel Xeon, Granite Rapids class).
SAMPLES = 256

# By bytes: an integer of memoryview's that compares an element by its bits.
FORMATS = {2: "H", 4: "I", 8: "Q"}


class _Fingerprint:
    """Reads the same elements of the memory at a tensor's address each time. It owns no memory: it
    may be read while the tensor still has that address, sizes and strides."""

    def __init__(self, weight):
        elements = weight.numel()
        step = max(1, elements // SAMPLES)
        while gcd(step, elements) != 1:  # else it would sample only some channels and taps
            step -= 1
        extent = 1 + sum((size - 1) * stride for size, stride in zip(weight.shape, weight.stride()))
        width = weight.element_size()
        memory = memoryview((ctypes.c_ubyte * (extent * width)).from_address(weight.data_ptr()))
        view = memory.cast("B").cast(FORMATS[width])
        # The last element is sampled too: it tells an unfinished write from a finished one.
        first = (elements - 1) % step
        if extent == elements:  # in whichever order
            self.read = view[first::step].tobytes
        else:
            at = _offsets(weight, range(first, elements, step))
            pick = itemgetter(*at)
            self.read = lambda: pick(view)


def _offsets(weight, indices):
    """Where the elements with these row-major indices lie, in elements from the first."""
    for index in indices:
        offset = 0
        for size, stride in zip(reversed(weight.shape), reversed(weight.stride())):
            index, along = divmod(index, size)
            offset += along * stride
        yield offset


class Entry:
    """The state of a weight when its packing began, and the layer that was made from it: None once the
    entry is no longer kept."""

    def __init__(self, weight):
        self.layer = None
        self.is_used = False  # by a call after the one that packed it
        self.weight = weakref.ref(weight)
        self.version = weight._version  # inside an operator, a detached tensor's begins at 0
        weight = weight.detach()  # its metadata, which another thread may change
        self.storage = StorageWeakRef(weight.storage())  # keeps its address from being used again
        self.address = weight.data_ptr()
        self.dtype = weight.dtype
        self.shape = weight.shape
        self.strides = weight.stride()
        self.fingerprint = _Fingerprint(weight)
        self.seen = self.fingerprint.read()

    def is_valid_for(self, weight):
        storage = weight._storage()  # held until the fingerprint was read
        # `weight.data = weight.data.transpose(0, 1)` leaves object, version and address as they were.
        return (
            self.version == weight._version
            and self.storage.cdata == storage._cdata
            and self.address == weight.data_ptr()
            and self.dtype == weight.dtype
            and self.shape == weight.shape
            and self.strides == weight.stride()
            and not weight.is_neg()  # as `weight.data = torch._neg_view(weight.data)`
            and self.seen == self.fingerprint.read()
        )


class Kept:
    def __init__(self):
        self._unlock()
        self._entries = OrderedDict()  # (id of the weight, attributes): entry
        # Forms whose weights died before a second call, and how many did one after the other; and the last one of
        # such a form that was not packed.
        self._fleeting = OrderedDict()
        self._last = {}
        # The thread that held the lock may not exist in a child of fork().
        os.register_at_fork(after_in_child=self._unlock)

    def _unlock(self):
        self._lock = threading.RLock()  # a tensor's destructor may run during a lookup

    def find(self, weight, attributes, make):
        """The layer for the weight with the attributes, made by make() where none is kept. None where packing would be
        for a single call, it seems, and is not worth it: of a tensor without a version (made in inference mode), and
        of a new one where those before it, of its form, died unused, as what autocast or weight_norm computes."""
        if weight.is_inference():
            return make() if weight.numel() < FLEETING_ELEMENTS else None
        key = (id(weight), attributes)
        with self._lock:
            found = self._entries.get(key)
            if found is not None and found.weight() is weight and found.is_valid_for(weight):
                self._entries.move_to_end(key)
                if not found.is_used:
                    found.is_used = True
                    self._fleeting.pop((weight.shape, weight.dtype, attributes), None)
                return found.layer
            if self._is_fleeting(weight, (weight.shape, weight.dtype, attributes)):
                return None
        entry = Entry(weight)
        entry.layer = layer = make()  # without the lock, so that other threads need not wait
        if entry.is_valid_for(weight):  # else the weight was written meanwhile
            self._keep(key, weight, entry)
        return layer

    def _is_fleeting(self, weight, form):
        """Whether a weight that is not packed is likely to be gone at the next call."""
        if weight.numel() < FLEETING_ELEMENTS or self._fleeting.get(form, 0) < FLEETING:
            return False
        last = self._last.get(form)
        if last is not None and last() is weight:  # it comes again
            return False
        self._last[form] = weakref.ref(weight)
        return True

    def entry(self, weight, attributes):
        """The entry that find() would take the layer from if nothing has changed, or None."""
        with self._lock:
            found = self._entries.get((id(weight), attributes))
        if found is None or found.weight() is not weight:
            return None
        found.is_used = True
        return found

    def _keep(self, key, weight, entry):
        entry.weight = weakref.ref(weight, lambda _: self._drop(key, entry))
        with self._lock:
            self._remove(key)
            self._entries[key] = entry
            of_weight = [one for one in self._entries if one[0] == key[0]]
            for one in of_weight[:-OF_A_WEIGHT]:
                self._remove(one)
            while len(self._entries) > CAPACITY:
                self._remove(next(iter(self._entries)))

    def _remove(self, key):
        entry = self._entries.pop(key, None)
        if entry is not None:
            entry.layer = None  # whoever remembers the entry does not keep the memory

    def _drop(self, key, entry):
        with self._lock:
            if not entry.is_used:
                form = (entry.shape, entry.dtype, key[1])
                self._fleeting[form] = self._fleeting.pop(form, 0) + 1
                while len(self._fleeting) > CAPACITY:
                    self._last.pop(self._fleeting.popitem(last=False)[0], None)
            if self._entries.get(key) is entry:  # the id may belong to a later tensor
                self._remove(key)

    def forget(self, weight):
        with self._lock:
            for key in [key for key in self._entries if weight is None or key[0] == id(weight)]:
                self._remove(key)

    def __len__(self):
        return len(self._entries)
