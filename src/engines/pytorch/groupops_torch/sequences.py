"""The forward of nn.Sequential while enabled() is open: a convolution with what follows it is one call."""

import functools
import weakref

from torch import nn

from groupops_torch import chain


class Sequences:
    """The forward, and what is remembered for each sequence."""

    def __init__(self, owner):
        self._owner = owner  # of the chains
        # By the id of a sequence's dictionary, which is held, so that no other one gets its id: the
        # dictionary, the modules, and these with chains as what to call.
        self._known = {}
        self._references = {}  # by the same id, to the sequence
        self._theirs = None  # PyTorch's forward

    def open(self):
        self._theirs = nn.Sequential.forward
        nn.Sequential.forward = self._forward(self._theirs)

    def close(self):
        nn.Sequential.forward = self._theirs  # what is remembered holds for the next enabled() too

    def forget(self):
        self._known.clear()
        self._references.clear()

    def _forward(self, theirs):
        known = self._known

        # TorchScript reads the source of what is wrapped.
        @functools.wraps(theirs)
        def forward(sequence, input):
            own = sequence.__dict__
            modules = (*own["_modules"].values(),)
            found = known.get(id(own))
            if found is None or found[1] != modules:
                found = self._look_at(sequence, modules)
            if found[2] is None:
                return theirs(sequence, input)
            for step in found[2]:
                input = step(input)
            return input

        return forward

    def _look_at(self, sequence, modules):
        own = sequence.__dict__
        steps = chain.split(modules, self._owner)
        if len(steps) == len(modules):
            steps = None
        self._references[id(own)] = weakref.ref(sequence, functools.partial(self._drop, id(own)))
        self._known[id(own)] = found = own, modules, steps
        return found

    def _drop(self, number, _):
        self._known.pop(number, None)
        self._references.pop(number, None)
