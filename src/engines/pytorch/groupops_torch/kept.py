"""Layers by their weights, a bounded number of them, none of them ever stale.

A packed filter is a copy of the weights, so it must be dropped when these change. An entry belongs
to a tensor object (a weak reference: the entry goes when the tensor does) and holds for the version
that PyTorch counts for its writes in place. It also holds an alias of the weights' memory, so that no
other weights can come to lie at the same address while the entry is there. Writes that PyTorch does
not count, through `.data` or a NumPy array that shares the memory, need `forget()`.
"""

import threading
import weakref
from collections import OrderedDict

# The most layers kept: more than any network has.
CAPACITY = 2048


class _Entry:
    def __init__(self, weight, layer):
        self.layer = layer
        self.alias = weight.detach()
        self.version = weight._version

    def holds_for(self, weight):
        # `weight.data = weight.data.transpose(0, 1)` leaves object, version and address as they were.
        return (
            self.version == weight._version
            and self.alias.data_ptr() == weight.data_ptr()
            and self.alias.dtype == weight.dtype
            and self.alias.shape == weight.shape
            and self.alias.stride() == weight.stride()
        )


class Kept:
    def __init__(self):
        self._lock = threading.RLock()  # a dying tensor may end another's lookup
        self._entries = OrderedDict()  # (id of the weight, attributes): (weak reference, entry)

    def find(self, weight, attributes, make):
        """The layer for the weight with the attributes, made by make() where none is kept. A
        tensor without a version (made in inference mode) gets a new one each time."""
        if weight.is_inference():
            return make()
        key = (id(weight), attributes)
        with self._lock:
            found = self._entries.get(key)
            if found is not None and found[0]() is weight and found[1].holds_for(weight):
                self._entries.move_to_end(key)
                return found[1].layer
            entry = _Entry(weight, make())
            self._entries[key] = (weakref.ref(weight, lambda _: self._drop(key, entry)), entry)
            self._entries.move_to_end(key)
            while len(self._entries) > CAPACITY:
                self._entries.popitem(last=False)
            return entry.layer

    def _drop(self, key, entry):
        with self._lock:
            found = self._entries.get(key)
            if found is not None and found[1] is entry:  # not that of a later tensor of that id
                del self._entries[key]

    def forget(self, weight):
        with self._lock:
            for key in [key for key in self._entries if weight is None or key[0] == id(weight)]:
                del self._entries[key]

    def __len__(self):
        return len(self._entries)
