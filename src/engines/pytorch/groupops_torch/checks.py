"""Which calls the library serves: those that PyTorch would compute, on tensors that the library can
read in place. PyTorch computes or refuses all others."""

from functools import lru_cache

import torch

from groupops_torch.layers import TYPES

# How many combinations of sizes and attributes of convolutions are cached.
REMEMBERED = 4096

# The largest stride, pad or dilation: with larger ones PyTorch's kernels overflow.
LARGEST = 2**15

# PyTorch adds epsilon in the type of the data, or in f32 for smaller types: a normal number in both.
MIN_EPSILON, MAX_EPSILON = 2.0**-126, 2.0**126

# The fewest weights of a layer whose data is converted from channels_last: below, calls are what takes time.
MIN_CONVERTED = 2**16

# Pixels of an output, of all images, that are few: 14x14.
FEW_PIXELS = 196

# PyTorch 1.13 lowers the layers of one image of at most so many elements; ours pays from so many multiplications.
MAX_LOWERED = 20480
MIN_LOWERED = 2**20

# Whether PyTorch computes by AVX-512. With AVX2 it takes 0.6 to 1.06 times as long as ours with data and output
# converted for kernels of 1, 0.67 to 0.98 times where it lowers, 1.07 to 1.8 times for all others (AMD EPYC, Zen 3).
_WIDE = "usage: AVX512" in torch.__config__.show()

# The types that PyTorch computes on every processor.
ALWAYS = (torch.float32, torch.float64)

_CHANNELS_LAST = torch.channels_last

# The fewest multiplications of a layer with a kernel of 1 that is worth a call of ours: 240 to 64 channels of one
# pixel, 15360, take PyTorch 7.2 us and us 11.8; 480 to 120, 57600, 13.2 and 13.2 (AMD EPYC, Zen 5).
TINY = 2**15


def are_dense(data, *others):
    """Whether the tensors are dense, on the CPU, not empty, aligned, not to be negated as they are read, and all of one
    type that the library has."""
    dtype = data.dtype
    if dtype not in TYPES:
        return False
    size = data.element_size()
    for t in (data, *others):
        if t is not None and not (
            t.dtype is dtype
            and t.is_cpu
            and t.layout is torch.strided
            and not t.is_nested
            and not t.is_neg()
            and t.numel() > 0
            and t.data_ptr() != 0
            and t.data_ptr() % size == 0
        ):
            return False
    return True


def _channels_last(t):
    """Whether PyTorch takes these strides for channels_last and would return that layout: they grow
    in the order of channels, width, height (, depth) and batch, and pixels do not overlap."""
    strides = t.stride()
    if not 4 <= len(strides) <= 5 or strides[-1] < strides[1] * t.shape[1]:
        return False
    least = 0
    for axis in (1, *range(len(strides) - 1, 1, -1), 0):
        if strides[axis] < least or axis == 0 and least == strides[1]:
            return False
        least = strides[axis] * t.shape[axis]
    return True


def plainly_channels_last(t):
    """Two quick questions that tell most of _channels_last's images: networks of such tensors, whose
    layers are PyTorch's but for some, should lose no time here."""
    return not t.is_contiguous() and t.dim() == 4 and t.is_contiguous(memory_format=_CHANNELS_LAST)


def _is_tiny(data, weight, transposed, groups):
    """Whether the call takes longer than the computation, as a squeeze-and-excitation's: then PyTorch's
    own is the cheaper one, which for kernels of 1 is a matrix product."""
    elements = weight.numel()
    return (
        elements < TINY
        and groups == 1
        and not transposed
        and data.dtype in ALWAYS
        and weight.shape[2:].numel() == 1
        and elements * data.numel() < TINY * data.shape[1]
    )


def _pays_converted(data, weight, strides):
    """Whether data and output are worth converting from and to channels_last. PyTorch brings the weights
    of its convolutions into an order of its own at each call, and we once: what is won goes with
    the weights, what is lost with data and output, and both weigh less where each weight is used for many
    pixels. Of those that are converted, PyTorch takes 1.0 to 1.8 times as long (Intel Xeon, Granite Rapids class)."""
    if data.dtype is not torch.float32 or min(strides, default=0) < 1:
        return False
    if not _WIDE and (weight.shape[2:].numel() == 1 or data.shape[0] == 1 and data.numel() <= MAX_LOWERED):
        return False
    pixels = data.shape[0] * data.shape[2] * data.shape[3] / (strides[0] * strides[-1])
    least = 2 if pixels <= FEW_PIXELS else 3
    return weight.numel() >= least * (data.numel() + weight.shape[0] * pixels)


def _is_lowered(data, weight, strides, dilations, groups):
    """Whether PyTorch 1.13 lowers the call by im2col, as it does dense layers of one small image: it takes 1.1
    to 1.8 times as long as ours with data and output converted (Intel Xeon, Granite Rapids class)."""
    taps = weight.shape[2:].numel()
    return (
        _WIDE
        and groups == 1
        and 1 < taps <= 9
        and data.shape[0] == 1
        and data.numel() <= MAX_LOWERED
        and max(*strides, *dilations) == 1
        and data.dtype is torch.float32
        and weight.numel() * data.numel() >= MIN_LOWERED * data.shape[1]
    )


def left_at_once(data, weight, strides, dilations, transposed, groups):
    """Whether sizes alone tell that the call is PyTorch's: asked before all else, as the layers of a
    network of channels_last tensors wait for the answer."""
    if plainly_channels_last(data):
        return transposed or not (
            weight.numel() >= MIN_CONVERTED and _pays_converted(data, weight, strides)
            or _is_lowered(data, weight, strides, dilations, groups)
        )
    return data.dim() == weight.dim() > 2 and _is_tiny(data, weight, transposed, groups)


@lru_cache(maxsize=REMEMBERED)
def _legal(shape, filter_shape, bias_shape, stride, padding, dilation, transposed, output_padding, groups):
    """The four lists with a number for each axis, or None for a call that PyTorch refuses."""
    axes = len(shape) - 2
    if not 1 <= axes <= 3 or len(filter_shape) != len(shape) or groups < 1 or filter_shape[0] % groups != 0:
        return None
    grouped = filter_shape[1] * groups
    c_in, c_out = (filter_shape[0], grouped) if transposed else (grouped, filter_shape[0])
    if shape[1] != c_in or bias_shape not in (None, (c_out,)):
        return None
    lists = [given * axes if len(given) == 1 else given for given in (stride, padding, dilation, output_padding)]
    if any(len(given) != axes for given in lists):
        return None
    for size, kernel, s, p, d, extra in zip(shape[2:], filter_shape[2:], *lists):
        if not (1 <= s <= LARGEST and 0 <= p <= LARGEST and 1 <= d <= LARGEST and extra >= 0):
            return None
        reach = d * (kernel - 1) + 1
        if transposed:
            fits = extra < max(s, d) and (size - 1) * s - 2 * p + reach + extra >= 1
        else:
            fits = extra == 0 and size + 2 * p >= reach
        if not fits:
            return None
    return tuple(lists)


def _small_numbers(shape):
    """Small integers, whose products and sums are exact in every type."""
    count = torch.Size(shape).numel()
    return ((torch.arange(count) * 7 % 11 % 5) - 2.0).reshape(shape)


@lru_cache(maxsize=None)
def _computes_convolution(dtype, axes, transposed, dilated, grouped, mkldnn):
    """Whether PyTorch has such a convolution for the type on this processor and computes it right:
    tried once. (PyTorch 1.13 has none for f16, and on processors with AVX-512 it computes transposed
    ones of bf16 as ordinary ones.) `mkldnn` is the switch of torch.backends, on which it depends."""
    data = _small_numbers((1, 2, *(4,) * axes))
    weight = _small_numbers((2, 1 if grouped else 2, *(2,) * axes))
    given = (
        None, [2] * axes, [1] * axes, [2 if dilated else 1] * axes, transposed, [0] * axes,
        2 if grouped else 1, False, False, False, False,
    )
    try:
        output = torch._convolution(data.to(dtype), weight.to(dtype), *given)
    except RuntimeError:
        return False
    return torch.equal(output.double(), torch._convolution(data.double(), weight.double(), *given))


def convolution(data, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """The lists of strides, pads, dilations and output paddings where the library serves a call that
    was not left at once; else None."""
    if not are_dense(data, weight, bias):
        return None
    # PyTorch computes a row as an image of one line, of which only the weights' layout may tell.
    image = weight.unsqueeze(2) if weight.dim() == 3 else weight
    if not plainly_channels_last(data) and (_channels_last(data) or _channels_last(image)):
        return None
    lists = _legal(
        data.shape, weight.shape, None if bias is None else bias.shape, tuple(stride), tuple(padding),
        tuple(dilation), transposed, tuple(output_padding), groups,
    )
    if lists is None:
        return None
    if data.dtype not in ALWAYS and not _computes_convolution(
        data.dtype, len(lists[0]), transposed, max(lists[2]) > 1, groups > 1, torch._C._get_mkldnn_enabled(),
    ):
        return None
    return lists


def group_norm(data, weight, bias, batch, channels, pixels, groups, epsilon):
    """Whether the library serves the call, if PyTorch has the normalization for the type."""
    if not are_dense(data, weight, bias):
        return False
    shape = data.shape
    return (
        len(shape) >= 2
        and shape[0] == batch
        and shape[1] == channels
        and data.numel() == batch * channels * pixels
        and data.is_contiguous()
        and not _channels_last(data)
        and groups >= 1
        and channels % groups == 0
        and (weight is None or weight.shape == (channels,) and weight.is_contiguous())
        and (bias is None or bias.shape == (channels,) and bias.is_contiguous())
        and MIN_EPSILON <= epsilon <= MAX_EPSILON
    )
