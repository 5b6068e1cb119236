#!/usr/bin/env python3
"""report.py CSV... --summary=FILE --table=FILE: Markdown from what `peers` measured."""

import argparse

import results
from results import KINDS, PEERS


HEAD = """\
Milliseconds, minima of interleaved rounds; ratio = the best peer's time / ours, on plain tensors in
and out. oneDNN: the better of its own layout with the reorders of data and output counted and of
plain tensors throughout; in brackets its own layout without the reorders. ONNX Runtime: in a chain
of eight equal layers where the shapes allow, so that its own layout costs it next to nothing; in
brackets, and in the columns "all plain", one such layer between plain tensors. Forced: this
library's algorithms, each by its name. Bare GEMM: the BLAS calls of gemm by themselves. Copy: memcpy
of the data.
"""


def milliseconds(value):
    if value is None:
        return "–"
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"


def marked(text, misses):
    return f"**{text}**" if misses else text


def summary_cells(ratios, least, least_mean):
    worst = min(ratios)
    mean = results.geometric_mean(ratios)
    below = sum(ratio < least for ratio in ratios)
    return (f"{marked(f'{worst:.2f}', worst < least)} "
            f"| {marked(f'{mean:.2f}', mean < least_mean)} | {below}")


def short_summary(layers):
    """With one thread, or the least number that was measured."""
    threads = min((layer.threads for layer in layers), default=1)
    lines = [f"Threads: {threads}", "", "| layers | count | geometric mean | worst layer |",
             "|---|---|---|---|"]
    for kind in KINDS:
        ratios = [layer.ratio for layer in layers if (layer.kind, layer.threads) == (kind, threads)]
        if ratios:
            lines.append(f"| {kind} | {len(ratios)} | {results.geometric_mean(ratios):.2f} "
                         f"| {min(ratios):.2f} |")
    return [*lines, ""]


def summary(layers):
    lines = [
        "| layers | wanted: each, mean | threads | count | worst | geometric mean | below "
        "| all plain: worst | geometric mean | below |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for kind, (least, least_mean) in KINDS.items():
        for threads in sorted({layer.threads for layer in layers}):
            of_kind = [layer for layer in layers if (layer.kind, layer.threads) == (kind, threads)]
            if of_kind:
                chained = summary_cells([layer.ratio for layer in of_kind], least, least_mean)
                plain = summary_cells([layer.plain_ratio for layer in of_kind], least, least_mean)
                lines.append(f"| {kind} | ≥ {least}, ≥ {least_mean} | {threads} | {len(of_kind)} "
                             f"| {chained} | {plain} |")
    return lines


def table(layers):
    lines = [
        "| layer | shapes | threads | ours | GFLOP/s | algorithm | ratio | best peer | oneDNN (no reorders) "
        "| ONNX Runtime (alone) | PyTorch | forced | bare GEMM | copy |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for layer in layers:
        time = {name: milliseconds(value) for name, value in layer.least.items()}
        dnnl = min((layer.least[name] for name in ("onednn", "onednn-plain") if name in layer.least),
                   default=None)
        forced = ", ".join(f"{name} {milliseconds(least)}" for name, least in layer.forced.items())
        lines.append(
            f"| {layer.name} | {layer.shapes.replace('*', '∗')} | {layer.threads} "
            f"| {time[results.OURS]} | {1e3 * layer.gflop / layer.ours:.0f} | {layer.notes[results.OURS]} "
            f"| {marked(f'{layer.ratio:.2f}', layer.misses)} | {PEERS[layer.best_peer]} "
            f"| {milliseconds(dnnl)} ({time.get('onednn-layout', '–')}) "
            f"| {time.get('onnxruntime', '–')} ({time.get('onnxruntime-single', '–')}) "
            f"| {time.get('pytorch', '–')} "
            f"| {forced} "
            f"| {time.get('gemm-calls', '–')} | {time.get('copy', '–')} |")
    return lines


def threads_findings(layers):
    """Layers that a second thread helps too little; beside it, what it does for a copy."""
    alone = {(layer.name, layer.shapes): layer for layer in layers if layer.threads == 1}
    for layer in layers:
        one = alone.get((layer.name, layer.shapes))
        if layer.threads != 2 or one is None:
            continue
        speedup = one.ours / layer.ours
        least = results.MIN_SPEEDUP if one.ours > results.LONG_MS else 1.0
        if speedup < least:
            copy = one.least.get("copy", 0) / layer.least.get("copy", 1)
            yield (f"{layer.name} ({layer.shapes}): {speedup:.2f}× with 2 threads, ≥ {least} wanted"
                   + (f"; a copy of the data: {copy:.2f}×" if copy else ""))


def findings(layers):
    for layer in layers:
        if layer.misses:
            yield (f"{layer.name} ({layer.shapes}), {layer.kind}, threads {layer.threads}: ratio "
                   f"{layer.ratio:.2f}, ≥ {KINDS[layer.kind][0]} wanted; {PEERS[layer.best_peer]} is "
                   f"faster")
        if layer.copies is not None and layer.copies > results.MAX_COPIES:
            yield (f"{layer.name} ({layer.shapes}), threads {layer.threads}: {layer.copies:.2f} "
                   f"copies, ≤ {results.MAX_COPIES} wanted")
        if layer.forced:
            fastest = min(layer.forced, key=layer.forced.get)
            chosen = layer.notes[results.OURS].partition("/")[0]  # a method is forced, not a form
            if (fastest != chosen
                    and layer.forced[fastest] * results.CHOICE_MARGIN < layer.ours):
                yield (f"{layer.name} ({layer.shapes}), threads {layer.threads}: {fastest} would be "
                       f"{layer.ours / layer.forced[fastest]:.2f}× as fast as "
                       f"{chosen}, which the plan chose")
    yield from threads_findings(layers)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("csv", nargs="+")
    parser.add_argument("--summary", required=True)
    parser.add_argument("--table", required=True)
    arguments = parser.parse_args()
    everything = results.read(arguments.csv)
    layers = results.compared(everything)
    with open(arguments.summary, "w", encoding="utf-8") as file:
        print("\n".join([*short_summary(layers), *summary(layers)]), file=file)
    found = [*results.wrong(everything), *findings(layers)] or ["none"]
    with open(arguments.table, "w", encoding="utf-8") as file:
        print(HEAD, file=file)
        print("\n".join(summary(layers)), file=file)
        print("\n" + "\n".join(table(layers)), file=file)
        print("\nShort of what is wanted:\n\n" + "\n".join(f"- {line}" for line in found), file=file)
    for line in found:
        print(line)


if __name__ == "__main__":
    main()
