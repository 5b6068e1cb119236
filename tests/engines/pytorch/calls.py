"""Random calls of the operators, legal and illegal: what the differential test asks of both sides.

About one of ten is illegal: PyTorch takes some milliseconds to refuse a call."""

import random

import torch

F = torch.nn.functional
CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
DECONV = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}

FLOATS = (torch.float32, torch.float64, torch.bfloat16)
MOSTLY_LONG = 8 * (torch.float32, torch.float64) + (torch.bfloat16,)
OTHERS = (torch.float16, torch.int64, torch.int32, torch.int16, torch.uint8, torch.int8, torch.bool, torch.complex64)
LAYOUTS = ("steps", "permuted", "offset", "misaligned", "expanded", "channels_last", "grad")
HUGE = (2**15 + 1, 2**31 - 1, 2**31, 2**62)


class Random(random.Random):
    def chance(self, of_hundred):
        return self.randrange(100) < of_hundred

    def most_often(self, usual, others, of_hundred=60):
        return usual if self.chance(of_hundred) else self.choice(others)


def _values(shape, dtype):
    if dtype.is_floating_point or dtype.is_complex:
        wide = torch.complex64 if dtype.is_complex else torch.float64
        return torch.randn(shape, dtype=wide).to(dtype)
    return torch.randint(0, 5, shape).to(dtype)


def _misaligned(values):
    """The same values a byte behind where the type would have them."""
    if values.numel() == 0:
        return values
    memory = bytearray(values.numel() * values.element_size() + 1)
    there = torch.frombuffer(memory, dtype=values.dtype, count=values.numel(), offset=1).view(values.shape)
    return there.copy_(values)


def lay(rng, values, layout):
    """The values, or for `expanded` some of them again and again, as `layout` has them in memory."""
    rank = values.dim()
    if layout == "steps" and rank > 0:
        axis = rng.randrange(rank)
        return values.repeat_interleave(2, axis)[(slice(None),) * axis + (slice(1, None, 2),)]
    if layout == "permuted" and rank > 1:
        order = rng.sample(range(rank), rank)
        back = [order.index(axis) for axis in range(rank)]
        return values.permute(order).contiguous().permute(back)
    if layout == "offset":
        room = torch.zeros(values.numel() + 3, dtype=values.dtype)
        room[3:] = values.reshape(-1)
        return room[3:].view(values.shape)
    if layout == "misaligned":
        return _misaligned(values)
    if layout == "expanded" and rank > 0:
        axis = rng.randrange(rank)
        return values.narrow(axis, 0, min(1, values.shape[axis])).expand(values.shape)
    if layout == "channels_last" and rank in (4, 5):
        return values.to(memory_format=torch.channels_last if rank == 4 else torch.channels_last_3d)
    if layout == "grad" and (values.dtype.is_floating_point or values.dtype.is_complex):
        return values.requires_grad_()
    return values


def tensor(rng, shape, dtype, layouts=LAYOUTS):
    """One of the shape; in a quarter of cases not as plainly laid out as can be."""
    values = _values([max(0, size) for size in shape], dtype)
    return lay(rng, values, rng.choice(layouts)) if rng.chance(25) else values


def dtypes(rng, count, usual_ones):
    """One for all, now and then one that is different."""
    usual = rng.choice(usual_ones if rng.chance(97) else OTHERS)
    found = [usual] * count
    if rng.chance(2):
        found[rng.randrange(count)] = rng.choice(FLOATS + OTHERS)
    return found


def vector_shape(rng, channels):
    """Of a bias or scale: nearly always the right one."""
    if rng.chance(98):
        return [channels]
    return rng.choice([
        [], [0], [1], [2], [channels - 1], [channels + 1], [2 * channels], [channels, 1], [1, channels],
        [channels, 1, 1], [1, channels, 1, 1],
    ])


def _spoil_sizes(rng, data, filter_):
    """Another rank, a size that does not fit, none at all."""
    shape = rng.choice([data, filter_])
    kind = rng.randrange(4)
    if kind == 0:
        shape.append(rng.randrange(1, 4))
    elif kind == 1:
        del shape[rng.randrange(len(shape))]
    elif kind == 2:
        shape[rng.randrange(len(shape))] = 0
    else:
        axis = rng.randrange(len(shape))
        shape[axis] = max(0, shape[axis] + rng.choice([-2, -1, 1, 2, 5]))


def _spoil_lists(rng, lists, axes):
    name = rng.choice(sorted(lists))
    kind = rng.randrange(4)
    if kind == 0:
        lists[name] = [rng.choice([-3, -1, 0])] * axes
    elif kind == 1:
        lists[name] = [rng.choice([3, 5, 9, *HUGE])] * axes
    elif kind == 2:
        lists[name] = lists[name] + [1]
    else:
        lists[name] = lists[name][:1] if rng.chance(50) else []


def convolution(rng, transposed):
    """A call: the function, its tensors and its attributes by name."""
    axes = rng.choice([1, 2, 2, 3])
    groups = rng.choice([1, 1, 2, 3, 5])
    c_in, c_out = groups * rng.randrange(1, 5), groups * rng.randrange(1, 5)
    kernel = [rng.randrange(1, 4) for _ in range(axes)]
    lists = {
        "stride": [rng.choice([1, 1, 2, 3]) for _ in range(axes)],
        "padding": [rng.choice([0, 0, 1, 2]) for _ in range(axes)],
        "dilation": [rng.choice([1, 1, 2, 3]) for _ in range(axes)],
    }
    if transposed:
        lists["output_padding"] = [
            rng.randrange(max(least)) for least in zip(lists["stride"], lists["dilation"])
        ]
        filter_ = [c_in, c_out // groups, *kernel]
    else:
        filter_ = [c_out, c_in // groups, *kernel]
    reach = [d * (k - 1) + 1 for d, k in zip(lists["dilation"], kernel)]
    least = [6 - k for k in kernel] if transposed else [max(1, r - 2 * p) for r, p in zip(reach, lists["padding"])]
    data = [rng.randrange(1, 4), c_in, *(rng.randrange(size, size + 5) for size in least)]
    if rng.chance(5):
        del data[0]  # F.conv2d takes one image without a batch
    if rng.chance(2):
        _spoil_sizes(rng, data, filter_)
    if rng.chance(2):
        _spoil_lists(rng, lists, axes)
    if rng.chance(2):
        groups = rng.choice([-1, 0, 1, 2, 3, 4, 7])
    if not transposed and rng.chance(2):
        lists["padding"] = rng.choice(["same", "valid"])
    # PyTorch 1.13 takes transposed ones of bf16 for ordinary ones, and refuses most.
    types = dtypes(rng, 3, MOSTLY_LONG if transposed else FLOATS)
    bias = tensor(rng, vector_shape(rng, c_out), types[2]) if rng.chance(60) else None
    call = (DECONV if transposed else CONV)[axes]
    tensors = [tensor(rng, data, types[0]), tensor(rng, filter_, types[1]), bias]
    if len(data) == axes + 2 and rng.chance(25) and not isinstance(lists["padding"], str):
        lists.setdefault("output_padding", [rng.choice([0, 0, 1])] * axes)
        return Convolution(torch.convolution, transposed=transposed, groups=groups, **lists), tensors
    return Convolution(call, groups=groups, **lists), tensors


EPSILONS = (0.0, -1e-3, -5.0, 1e-12, 1e-45, 1e-300, 1.0, 100.0, 1e30, 1e300, float("inf"), float("nan"))


class Convolution:
    """F.conv2d and its like; or torch.convolution, which takes an output padding of either kind."""

    def __init__(self, function, **attributes):
        self.function, self.attributes = function, attributes

    def __repr__(self):
        return f"{self.function.__name__} {self.attributes}"

    def __call__(self, data, weight, bias):
        return self.function(data, weight, bias, **self.attributes)


class GroupNorm:
    """torch.native_group_norm with these sizes, or F.group_norm without."""

    def __init__(self, groups, epsilon, sizes):
        self.groups, self.epsilon, self.sizes = groups, epsilon, sizes

    def __repr__(self):
        return f"groups {self.groups}, epsilon {self.epsilon}, sizes {self.sizes}"

    def __call__(self, data, scale, bias):
        if self.sizes is None:
            return F.group_norm(data, self.groups, scale, bias, self.epsilon)
        return torch.native_group_norm(data, scale, bias, *self.sizes, self.groups, self.epsilon)


def group_norm(rng):
    """F.group_norm or, where the calls are ones that PyTorch checks, the operator beneath it."""
    native = rng.chance(50)
    groups = rng.choice([1, 2, 3, 5])
    channels = groups * rng.randrange(1, 5)
    data = [rng.randrange(1, 4), channels, *(rng.randrange(1, 7) for _ in range(rng.randrange(4)))]
    if rng.chance(2):
        _spoil_sizes(rng, data, data)
    epsilon = rng.most_often(1e-5, EPSILONS, 70)
    if rng.chance(2):
        groups = rng.choice([-2, -1, 0, 1, 2, 3, 4, 7, 2 * channels])
    types = dtypes(rng, 3, FLOATS)
    # PyTorch's kernel reads a vector as if it were contiguous: beyond the memory of an expanded one.
    layouts = ("permuted", "offset", "misaligned", "channels_last", "grad") if native else LAYOUTS
    tensors = [tensor(rng, data, types[0], layouts)]
    for dtype in types[1:]:
        tensors.append(tensor(rng, vector_shape(rng, channels), dtype, layouts) if rng.chance(70) else None)
    if not native:
        return GroupNorm(groups, epsilon, None), tensors
    pixels = 1
    for size in data[2:]:
        pixels *= size
    sizes = [data[0] if data else 1, data[1] if len(data) > 1 else 1, pixels]
    if rng.chance(4):
        axis = rng.randrange(3)
        sizes[axis] = rng.choice([0, 1, sizes[axis] - 1, sizes[axis] + 1, 2 * sizes[axis], -1, 10**9])
    elif rng.chance(5):
        sizes = [1, sizes[1], sizes[0] * sizes[2]]
    return GroupNorm(groups, epsilon, sizes), tensors
