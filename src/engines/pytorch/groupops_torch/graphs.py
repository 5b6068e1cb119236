"""The forward of models that fuse() was told of, while enabled() is open.

In what torch.fx records of a forward, a convolution and what follows it become one call (chain.py) where nothing
else uses what lies between. The model itself stays as it is: in its forward's place the fused record runs for as
long as the model is what was recorded. At the first call for each kind of input, the record as it was is compared
with the forward, to the bit; it is forgotten where they differ.
"""

import functools
import operator
import weakref

import torch
from torch import fx, nn

from groupops_torch.chain import ACTIVATIONS, NORMS, Chain
from groupops_torch.modules import kind_of
from groupops_torch.originals import original, replacing
from groupops_torch.record import Record
from groupops_torch.remembered import is_extraordinary

# Activations that a forward may call as functions, by the module that does the same.
_FUNCTIONS = {
    nn.functional.relu: nn.ReLU, torch.relu: nn.ReLU, torch.relu_: nn.ReLU, "relu": nn.ReLU, "relu_": nn.ReLU,
    nn.functional.relu6: nn.ReLU6, nn.functional.silu: nn.SiLU, nn.functional.hardswish: nn.Hardswish,
    nn.functional.hardsigmoid: nn.Hardsigmoid, nn.functional.sigmoid: nn.Sigmoid, torch.sigmoid: nn.Sigmoid,
    "sigmoid": nn.Sigmoid,
}
_SUMS = (operator.add, operator.iadd, torch.add)


def _is_harmless(module):
    """Whether it writes to no tensor but its output."""
    return kind_of(module) is not None or type(module) in NORMS.values()


class _Fuser:
    """Puts chains in the place of a graph's nodes."""

    def __init__(self, graph, modules, owner):
        self.graph, self.modules, self.owner = graph, modules, owner
        self.nodes = list(graph.nodes)
        self.chains = []
        self.order = {node: at for at, node in enumerate(self.nodes)}

    def module(self, node):
        """The module that the node gives a tensor to, or one that does the same; None for all else."""
        if len(node.args) != 1 or node.kwargs.keys() - {"inplace"}:
            return None
        if node.op == "call_module":
            return self.modules[node.target]
        kind = _FUNCTIONS.get(node.target) if node.op in ("call_function", "call_method") else None
        return kind and kind()

    def next(self, members):
        """The only user of the last member; None where one node between writes what the first one reads."""
        user, *others = members[-1].users
        if others or user not in self.order:
            return None
        between = self.nodes[self.order[members[0]] : self.order[user]]
        return user if all(node in members or _is_harmless(self.module(node)) for node in between) else None

    def follow(self, members, kinds):
        """The module behind the last member if it is of these kinds: its node then is a member."""
        node = self.next(members)
        module = None if node is None else self.module(node)
        if type(module) not in kinds:
            return None
        members.append(node)
        return module

    def add(self, members):
        """The tensor that is added to the last member, and a function that adds it; or two None."""
        sum, last = self.next(members), members[-1]
        if sum is not None and sum.op == "call_function" and sum.target in _SUMS and not sum.kwargs:
            for at in range(1 if sum.target is operator.iadd else 2):
                other = sum.args[1 - at]
                if sum.args[at] is last and other is not last and isinstance(other, fx.Node):
                    members.append(sum)
                    function = sum.target
                    return other, function if at == 0 else lambda one, other: function(other, one)
        return None, None

    def fuse(self, node):
        """Puts a chain in the place of one that begins with this node."""
        conv = self.module(node)
        kind = kind_of(conv)
        if kind is None:
            return
        members = [node]
        norm = self.follow(members, (NORMS[kind],))
        other, add = self.add(members)
        activation = self.follow(members, ACTIVATIONS)
        if len(members) == 1:
            return
        chain = Chain(self.owner, conv, norm, add, activation)
        with self.graph.inserting_after(members[-1]):
            call = self.graph.call_function(chain.__call__, (node.args[0], *([] if add is None else [other])))
        members[-1].replace_all_uses_with(call)
        for member in reversed(members):
            self.graph.erase_node(member)
        self.chains.append(chain)


def _versions(model):
    return [t._version for t in (*model.parameters(), *model.buffers()) if not t.is_inference()]


class _Model:
    """A model's record, for one and fused."""

    def __init__(self, model, owner):
        self._owner = owner
        self._record = Record(model)
        self.forward = original(type(model).forward)  # what was recorded
        self.is_current = True  # whether the modules' forwards are, too
        self._agreed = set()  # kinds of inputs
        graph = fx.Graph()
        graph.output(graph.graph_copy(self._record.graph, {}))
        fuser = _Fuser(graph, dict(model.named_modules(remove_duplicate=False)), owner)
        for node in fuser.nodes:
            fuser.fuse(node)
        self.chains = fuser.chains
        self._fused = fx.GraphModule(model, graph).forward

    def look(self):
        self.is_current = self._record.has_its_forwards()

    def run(self, theirs, model, inputs):
        """The output; and whether the record is of any use."""
        if (
            len(inputs) != self._record.inputs
            or self._owner.accuracy is None
            or not self.is_current
            or any(map(is_extraordinary, inputs))
            or not self._record.is_valid()
        ):
            return theirs(model, *inputs), True
        kind = tuple((data.dim(), data.dtype) for data in inputs)
        if kind in self._agreed:
            return self._fused(*inputs), True
        copies = [data.clone() for data in inputs]  # a forward may write to its inputs
        before = _versions(model)
        output = theirs(model, *inputs)
        if _versions(model) != before:  # the record would write to tensors of the model once more
            return output, True
        if not self._record.agrees(copies, output):
            return output, False
        self._agreed.add(kind)
        return output, True


class Graphs:
    """The forwards of classes that have models which are known."""

    def __init__(self, owner):
        self._owner = owner  # of the chains
        self._known = {}  # by the id of a model's dictionary, which its record holds
        self._references = {}  # by the same id, to the model
        # By class, all that are replaced: its own forward, or None where it inherits one, and ours.
        self._replaced = {}
        self._kinds = []  # all classes of models
        self._is_open = False

    def open(self):
        self._is_open = True
        for found in [*self._known.values()]:
            found.look()
        for kind in self._kinds:
            self._replace(kind)

    def close(self):
        self._is_open = False
        for kind, (theirs, ours) in self._replaced.items():
            if kind.__dict__.get("forward") is not ours:  # somebody else has replaced it
                continue
            if theirs is None:
                del kind.forward
            else:
                kind.forward = theirs
        self._replaced.clear()

    def forget(self):
        """Drops what was made of weights."""
        for found in [*self._known.values()]:
            for chain in found.chains:
                chain.fold = chain.calls = None

    def fuse(self, model):
        """Takes a model, or those of its modules that torch.fx can follow; gives the number of chains."""
        if isinstance(model, torch.jit.ScriptModule):
            return 0
        if not type(model).__module__.startswith("torch.nn."):
            try:
                found = _Model(model, self._owner)
            except Exception:  # whatever Proxy objects lead a forward to
                pass
            else:
                if found.chains:
                    self._keep(model, found)
                return len(found.chains)
        return sum(map(self.fuse, model.children()))

    def _keep(self, model, found):
        number = id(model.__dict__)
        self._references[number] = weakref.ref(model, functools.partial(self._drop, number))
        self._known[number] = found
        if type(model) not in self._kinds:
            self._kinds.append(type(model))
            if self._is_open:
                self._replace(type(model))

    def _drop(self, number, _=None):
        self._known.pop(number, None)
        self._references.pop(number, None)

    def _replace(self, kind):
        ours = self._forward(kind, kind.forward)
        self._replaced[kind] = kind.__dict__.get("forward"), ours
        kind.forward = ours

    def _forward(self, kind, theirs):
        known, drop = self._known, self._drop
        recorded = original(theirs)

        @functools.wraps(theirs)
        def forward(model, *inputs, **named):
            found = known.get(id(model.__dict__))
            if found is None or named or type(model) is not kind or found.forward is not recorded:
                return theirs(model, *inputs, **named)
            output, of_use = found.run(theirs, model, inputs)
            if not of_use:
                drop(id(model.__dict__))
            return output

        return replacing(theirs, forward)
