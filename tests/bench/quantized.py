#!/usr/bin/env python3
"""quantized.py CSV...: Markdown from what `peers --quantized` measured.

Ratios are times over ours with u8 data, an i8 filter and u8 output; above 1 we are faster.
"""

import argparse

import results
from results import OURS

F32, I32 = "groupops-f32", "groupops-i32"
ORT = ("onnxruntime", "onnxruntime-single")
# class: what f32, oneDNN and ONNX Runtime over ours are to reach in the geometric mean.
WANTED = {
    "dense": (3.0, 1.1, 1.5),
    "pointwise": (3.0, 1.1, 1.5),
    "transposed": (3.0, 1.1, None),
    "grouped, 4 to 32 channels": (2.0, 1.1, 1.5),
    "depthwise": (1.7, 3.0, 1.5),
    "fewer or more channels": (None, None, None),
}
AVX2_WANTED = 1.4  # of f32 over ours, where 3 is wanted with VNNI
MIN_LAYER = 0.9  # of oneDNN over ours


def class_of(layer):
    dims = [int(dim) for dim in layer.shapes.split(" * ")[1].split(" ")[0].split("x")]
    channels_in = dims[1] if layer.kind == "transposed" else dims[2]
    if layer.kind == "grouped":
        return "grouped, 4 to 32 channels" if 4 <= channels_in <= 32 else "fewer or more channels"
    if layer.kind != "depthwise" and channels_in < 16:
        return "fewer or more channels"
    return layer.kind


def least(layer, *names):
    return min((layer.least[name] for name in names if name in layer.least), default=None)


def over_ours(layer, *names):
    time = least(layer, *names)
    return time / layer.ours if time else None


def ratio(value, wanted=None):
    if value is None:
        return "–"
    return f"**{value:.2f}**" if wanted and value < wanted else f"{value:.2f}"


def time(value):
    return "–" if value is None else f"{value:.4f}" if value < 1 else f"{value:.2f}"


def summary(layers, avx2):
    lines = ["| layers | threads | count | f32 / ours | worst | oneDNN / ours | worst "
             "| ONNX Runtime / ours | worst | i32 output / ours |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    for name, wanted in WANTED.items():
        for threads in sorted({layer.threads for layer in layers}):
            chosen = [layer for layer in layers
                      if (class_of(layer), layer.threads) == (name, threads)]
            if not chosen:
                continue
            if avx2 and wanted[0] == 3.0:
                wanted = (AVX2_WANTED, *wanted[1:])
            cells = []
            for names, bound in zip(((F32,), ("onednn",), ORT), wanted):
                found = [over_ours(layer, *names) for layer in chosen]
                found = [value for value in found if value]
                floor = MIN_LAYER if names == ("onednn",) else None
                mean = results.geometric_mean(found) if found else None
                cells += [ratio(mean, bound), ratio(min(found, default=None), floor)]
            sums = [value for value in (over_ours(layer, I32) for layer in chosen) if value]
            cells.append(ratio(results.geometric_mean(sums) if sums else None))
            lines.append(f"| {name} | {threads} | {len(chosen)} | " + " | ".join(cells) + " |")
    return lines


def table(layers):
    """A line for each layer: our time with the least number of threads, and ratios for each number."""
    numbers = sorted({layer.threads for layer in layers})
    by_name = {(layer.name, layer.shapes, layer.threads): layer for layer in layers}
    lines = ["| layer | algorithm | ours, ms | f32 / ours | oneDNN / ours | its reorders not counted "
             "| ONNX Runtime / ours | i32 output / ours |",
             "|---|---|---|---|---|---|---|---|"]
    columns = ((F32,), None), (("onednn",), MIN_LAYER), (("onednn-layout",), None), \
        (ORT, None), ((I32,), None)
    for layer in layers:
        if layer.threads != numbers[0]:
            continue
        alike = [by_name.get((layer.name, layer.shapes, threads)) for threads in numbers]
        cells = [", ".join(ratio(over_ours(at, *names), wanted) for at in alike if at)
                 for names, wanted in columns]
        lines.append(f"| {layer.name} | {layer.notes[OURS]} | {time(layer.ours)} | "
                     + " | ".join(cells) + " |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("csv", nargs="+")
    parser.add_argument("--avx2", action="store_true", help="measured with GROUPOPS_ISA=avx2")
    arguments = parser.parse_args()
    everything = results.read(arguments.csv)
    layers = [layer for layer in everything if OURS in layer.least]
    print("\n".join([*summary(layers, arguments.avx2), "", *table(layers)]))
    for line in results.wrong(everything):
        print("\n" + line)


if __name__ == "__main__":
    main()
