"""Random calls with and without the override, which answers as PyTorch does or refuses as it does.

GROUPOPS_TEST_RANDOM_COUNT is the number of calls an operation, GROUPOPS_TEST_SEED what they are drawn
from. A call that ours did not serve gives PyTorch's own bits. One that ours served is compared with
PyTorch's answer in f64, and PyTorch's with it, by bounds from the magnitudes that are summed.
"""

import os
import unittest

import support  # before all that imports torch

import torch

import calls
from support import SEED, ULP, served, within

COUNT = int(os.environ.get("GROUPOPS_TEST_RANDOM_COUNT", "2000"))

# Calls made on one side before they are made on the other: the switch takes as long as many of them.
AT_ONCE = 250


def attempt(call, tensors):
    """(its outputs, None), or (None, what it raised)."""
    try:
        outputs = call(*tensors)
    except Exception as refusal:  # of any class, which has to be the same
        return None, (type(refusal).__name__, str(refusal).split("\n")[0])
    return (outputs if isinstance(outputs, tuple) else (outputs,)), None


def same_bits(one, other):
    return torch.equal(one, other) or torch.equal(one.isnan(), other.isnan()) and torch.equal(
        one.nan_to_num(), other.nan_to_num()
    )


def kind(output):
    return output.dtype, output.shape, output.requires_grad


def wide(t):
    return None if t is None else t.detach().to(torch.complex128 if t.is_complex() else torch.float64)


def excess(got, exact, bound):
    """How far beyond its bound the worst element is; NaN counts as far."""
    off = (wide(got) - exact).abs() - bound
    return off.nan_to_num(nan=float("inf")).max().item()


def convolution_bounds(call, tensors, outputs):
    """The exact output; what one of ours may be off by, in f32 sums rounded once; and PyTorch's,
    which may sum in the type itself."""
    exact = call(*map(wide, tensors))
    data, weight, bias = tensors
    magnitude = call(*(None if t is None else wide(t).abs() for t in tensors))
    terms = 2 * weight[0].numel() * weight.shape[0] + 2  # twice, for complex ones are made of real ones
    type_ulp = 2.0**-24 if data.is_complex() else ULP[data.dtype]
    sum_ulp = max(ULP[torch.float64], min(type_ulp, ULP[torch.float32]))
    ours = 2 * type_ulp * exact.abs() + 2 * terms * sum_ulp * magnitude
    # The f64 answer is off itself where f64 is what is computed.
    return [(exact, ours + 2 * ULP[torch.float64] * terms * magnitude, ours + 2 * terms * type_ulp * magnitude)]


def norm_bounds(call, tensors, outputs):
    """As above for the normalization, its means and its reciprocal deviations. `spread` is what the
    variance may be off by, and moves the output by its share of variance + epsilon."""
    data, scale, bias = map(wide, tensors)
    batch, channels = data.shape[:2]
    groups, epsilon = call.groups, call.epsilon
    split = data.reshape(batch, groups, -1)
    variance, mean = torch.var_mean(split, dim=2, unbiased=False)
    rstd = (variance + epsilon).rsqrt()
    column = lambda t: torch.ones(1) if t is None else t.reshape(1, channels, 1)
    by_channel = lambda t: t.repeat_interleave(channels // groups, 1).reshape(batch, channels, 1)
    flat = data.reshape(batch, channels, -1)
    size = split.abs().amax(dim=2)
    factor = by_channel(rstd) * column(scale)
    centred = (flat - by_channel(mean)) * factor
    shift = torch.zeros(1) if bias is None else column(bias)
    exact = (centred + shift).reshape(data.shape)
    found = []
    for ulp in (min(ULP[tensors[0].dtype], ULP[torch.float32]), ULP[tensors[0].dtype]):
        ulp = 64 * ulp
        spread = 0.5 * ulp * (variance + ulp * size * size) / (variance + epsilon)
        moved = ulp * (factor.abs() * (flat.abs() + by_channel(size)) + shift.abs()) + centred.abs() * by_channel(spread)
        found.append((moved.reshape(data.shape), ulp * size, rstd * (spread + ulp)))
    results = []
    for value, tight, loose in zip((exact, mean, rstd), *found):
        ours = tight + 2 * ULP[tensors[0].dtype] * value.abs()
        results.append((value, ours, loose + ours))
    return results[: len(outputs)]


class Differential(unittest.TestCase):
    def compare(self, name, draw, bounds):
        counts = {"served": 0, "handed": 0, "refused": 0}
        for start in range(0, COUNT, AT_ONCE):
            drawn = []
            for index in range(start, min(COUNT, start + AT_ONCE)):
                rng = calls.Random(f"{name} {SEED} {index}")
                torch.manual_seed(rng.getrandbits(60))
                drawn.append((index, rng, *draw(rng)))
            expected = [attempt(call, tensors) for _, _, call, tensors in drawn]
            got = []
            with within():
                for _, _, call, tensors in drawn:
                    before = served()
                    got.append((*attempt(call, tensors), served() > before))
            for (index, _, call, tensors), theirs, ours in zip(drawn, expected, got):
                what = self.judge(call, tensors, theirs, ours, bounds)
                if what not in counts:
                    self.fail(f"{name} {index} of seed {SEED}: {what}; " + ", ".join(
                        "None" if t is None else f"{t.dtype} {list(t.shape)} {t.stride()}" for t in tensors) + f"; {call}")
                counts[what] += 1
        print(f"{name}: {COUNT} calls, {counts['served']} served by ours, {counts['handed']} handed to "
              f"PyTorch and answered, {counts['refused']} refused alike")
        if COUNT >= 1000:  # it has seen each of the three
            self.assertGreater(min(counts.values()), COUNT // 50)

    def judge(self, call, tensors, theirs, ours, bounds):
        """Which of the three it was, or what is wrong."""
        expected, refusal = theirs
        got, our_refusal, was_served = ours
        if refusal or our_refusal:
            return "refused" if refusal == our_refusal else f"PyTorch: {refusal}, ours: {our_refusal}"
        if list(map(kind, got)) != list(map(kind, expected)):
            return f"another kind of output: {list(map(kind, got))}, PyTorch's: {list(map(kind, expected))}"
        if not was_served:
            return "handed" if all(map(same_bits, got, expected)) else "handed to PyTorch, other bits"
        for output, (mine, own, limits) in enumerate(zip(got, expected, bounds(call, tensors, got))):
            exact, tight, loose = limits
            if excess(mine, exact, tight) > 0:
                return f"output {output} is off by {excess(mine, exact, tight):.3g} beyond its bound"
            if excess(own, exact, loose) > 0:
                return f"PyTorch's output {output} is off by {excess(own, exact, loose):.3g} beyond its bound"
        return "served"

    def test_convolution(self):
        self.compare("convolution", lambda rng: calls.convolution(rng, False), convolution_bounds)

    def test_transposed_convolution(self):
        self.compare("transposed convolution", lambda rng: calls.convolution(rng, True), convolution_bounds)

    def test_group_norm(self):
        self.compare("group normalization", calls.group_norm, norm_bounds)


if __name__ == "__main__":
    torch.set_num_threads(1)  # for calls this small
    support.main()
