"""What torch.fx records of a model's forward, and whether it still is what the model would do."""

import operator

import torch
from torch import fx, nn
from torch.utils._pytree import tree_flatten

from groupops_torch.modules import kind_of
from groupops_torch.originals import original
from groupops_torch.remembered import global_hooks


class Unlike(Exception):
    """The forward does what a record would not do."""


def _state(own):
    """All that a module's dictionary holds, and its parameters, buffers and modules: to be compared by identity."""
    return [*own.values(), *own["_parameters"].values(), *own["_buffers"].values(), *own["_modules"].values()]


# What a module's dictionary has of PyTorch's own.
_OWN_NAMES = nn.Module().__dict__.keys()

# How many elements of dictionaries, lists and sets among a module's attributes are compared at each call, at most.
MAX_ELEMENTS = 1000


def _content(value, found):
    """Appends what a dictionary, list, tuple or set holds, and what those in it do, or the value itself; of a tensor,
    how often it was written too, since a forward may have read its elements."""
    if isinstance(value, (dict, list, tuple, set, frozenset)):
        found += type(value), len(value)
        for element in value:
            _content(element, found)
        if isinstance(value, dict):
            for element in value.values():
                _content(element, found)
        if len(found) > MAX_ELEMENTS:
            raise Unlike
    else:
        found.append(value)
        if isinstance(value, torch.Tensor) and not value.is_inference():
            found.append(value._version)
    return found


def _is_content(one, other):
    """Whether two values of _content() are the same object or the same number or string."""
    return one is other or type(one) is type(other) and type(one) in (int, float, complex, str, bytes) and one == other


def _is_plain(module):
    kind = type(module)
    is_sequence = kind.forward is nn.Sequential.forward and kind.__iter__ is nn.Sequential.__iter__
    return is_sequence or kind is nn.ModuleList


class _Tracer(fx.Tracer):
    """Notes the modules that it calls, and those that it looks into."""

    proxy_buffer_attributes = True  # else what is computed of buffers alone would be a constant

    def __init__(self):
        super().__init__()
        self.leaves, self.containers = [], []
        self.replaced = []

    def is_leaf_module(self, module, name):
        is_leaf = isinstance(module, torch.jit.ScriptModule) or kind_of(module) is not None
        return is_leaf or super().is_leaf_module(module, name)

    def call_module(self, module, forward, arguments, named):
        is_leaf = self.is_leaf_module(module, self.path_of_module(module))
        (self.leaves if is_leaf else self.containers).append(module)
        return super().call_module(module, forward, arguments, named)

    def create_args_for_root(self, *arguments, **named):
        """Has the forward meet a proxy in place of each tensor that is an attribute, too: an element that it reads
        would be a constant."""
        made = super().create_args_for_root(*arguments, **named)
        for module in self.root.modules():
            for name, value in module.__dict__.items():
                if isinstance(value, torch.Tensor):
                    proxy = self.create_proxy("get_attr", self.tensor_attrs[value], (), {})
                    module.__dict__[name] = proxy
                    self.replaced.append((module.__dict__, name, value, proxy))
        return made

    def put_back(self):
        """The tensors that create_args_for_root() replaced."""
        for own, name, value, proxy in self.replaced:
            if own.get(name) is proxy:
                own[name] = value
            if not proxy.node.users:
                self.graph.erase_node(proxy.node)

    def create_arg(self, argument):
        if isinstance(argument, dict) and type(argument) is not dict:  # an OrderedDict would become a dict
            raise Unlike
        return super().create_arg(argument)


def _trace(tracer, model):
    """The graph. A forward that writes attributes is refused, and these are as before."""
    before = [(module.__dict__, dict(module.__dict__)) for module in model.modules()]
    try:
        graph = tracer.trace(model)
    finally:
        tracer.put_back()
        changed = [(own, old) for own, old in before if list(map(id, own.values())) != list(map(id, old.values()))]
        for own, old in changed:
            own.clear()
            own.update(old)
    if changed:
        raise Unlike
    return graph


def _agree(output, other):
    """Whether two results are alike to the bit."""
    (ours, structure), (theirs, expected) = tree_flatten(output), tree_flatten(other)
    if structure != expected:
        return False
    for one, another in zip(ours, theirs):
        if type(one) is not type(another):
            return False
        if not isinstance(one, torch.Tensor):
            if one is not another and one != another:
                return False
        elif (one.dtype, one.shape, one.stride()) != (another.dtype, another.shape, another.stride()):
            return False
        elif not bool(((one == another) | (one != one) & (another != another)).all()):
            return False
    return True


class Record:
    """The graph, and the state of the modules when it was made. Raises what torch.fx does, or the forward, where it
    cannot be followed."""

    def __init__(self, model):
        tracer = _Tracer()
        self.graph = _trace(tracer, model)
        self.inputs = sum(node.op == "placeholder" for node in self.graph.nodes)
        called = {model, *tracer.containers}
        # A forward may also read what it does not call: a list of modules, weights for a function.
        hidden = {part for leaf in tracer.leaves for part in leaf.modules()} - called
        read = [module for module in model.modules() if module not in hidden]
        # What a sequence or a list does depends on its modules alone.
        plain = {module for module in read if _is_plain(module)}
        self._sequences = [(one.__dict__, len(one.__dict__), (*one._modules.values(),)) for one in plain]
        self._states = [(one.__dict__, _state(one.__dict__)) for one in read if one not in plain]
        self._contents = [
            (value, _content(value, []))
            for one in read if one not in plain
            for name, value in one.__dict__.items()
            if name not in _OWN_NAMES and isinstance(value, (dict, list, tuple, set))
        ]
        # Not of the model, whose class its forward is asked by: it would be held.
        self._kinds = [(module, type(module)) for module in model.modules() if module is not model]
        self._tensors = list(self._tensors_of(model, hidden))
        # The dictionaries that have the hooks, which may be replaced.
        self._hooked = [one.__dict__ for one in {*called, *tracer.leaves}]
        self._forwards = [(type(one), original(type(one).forward)) for one in tracer.containers]
        self._alone = fx.GraphModule(model, self.graph).forward

    def _tensors_of(self, model, modules):
        """The tensors of these that the graph itself reads: where they are, names, and the tensors."""
        for node in self.graph.nodes:
            if node.op == "get_attr":
                path, _, name = node.target.rpartition(".")
                module = model.get_submodule(path)
                for tensors in (module._parameters, module._buffers, module.__dict__):
                    if module in modules and name in tensors:
                        yield tensors, name, tensors[name]

    def has_its_forwards(self):
        """Whether the classes of the modules that it looked into have the forwards that they had."""
        return all(original(kind.forward) is forward for kind, forward in self._forwards)

    def is_valid(self):
        """Whether the modules' classes and attributes are those that were recorded, and nothing sees their calls."""
        if any(global_hooks):
            return False
        for own in self._hooked:
            if own["_forward_hooks"] or own["_forward_pre_hooks"] or own["_backward_hooks"]:
                return False
        for module, kind in self._kinds:
            if type(module) is not kind:
                return False
        for tensors, name, tensor in self._tensors:
            if tensors.get(name) is not tensor:
                return False
        for own, size, modules in self._sequences:
            if len(own) != size or (*own["_modules"].values(),) != modules:
                return False
        for own, state in self._states:
            now = _state(own)
            if len(now) != len(state) or not all(map(operator.is_, now, state)):
                return False
        try:
            for value, content in self._contents:
                now = _content(value, [])
                if len(now) != len(content) or not all(map(_is_content, now, content)):
                    return False
        except Unlike:  # it has more elements now
            return False
        return True

    def agrees(self, inputs, output):
        """Whether it computes the output of the forward, too."""
        with torch.random.fork_rng(devices=[]):
            try:
                return _agree(self._alone(*inputs), output)
            except Exception:  # whatever the other branch of a condition does with such inputs
                return False
