#!/usr/bin/env python3
"""picture.py CSV... --output-dir=DIR: the ratio of the peers' time to ours as bars, in SVG.

peers.svg has a bar for each kind of layer and peer, the geometric mean; peers-KIND.svg one for each
layer and number of threads, the best peer's. --processor and --date go into the subtitle; without
them it names what /proc/cpuinfo does, and the month in which the first CSV was written.
"""

import argparse
import datetime
import os
import xml.sax.saxutils

import results

WIDTH = 880
LABELS = 200  # left of the bars
LAYER_LABELS = 360
NUMBERS = 70  # right of the longest bar
BAR = 20
GAP = 18  # between the groups of bars
TOP = 128
BOTTOM = 20
MAX_RATIO = 16.0  # a longer bar is cut off, and says its number
# Colours of the peers, each for a light and for a dark background.
COLOURS = (("#2b6cb0", "#63a4e8"), ("#c05621", "#f0975a"), ("#2f855a", "#5fc78f"))
NAMES = {"grouped": "grouped", "depthwise": "depthwise", "transposed": "transposed",
         "dense": "dense", "pointwise": "1 x 1", "norm": "group norm"}
# As one bar each; oneDNN is the better of its own layout and plain tensors.
BARS = {"oneDNN": ("onednn", "onednn-plain"), "ONNX Runtime": ("onnxruntime",),
        "PyTorch": ("pytorch",)}


def style():
    def rules(shade):
        text, quiet, back = (("#1a202c", "#5a6472", "#ffffff"), ("#e6edf3", "#9aa5b1", "#0d1117"))[shade]
        bars = "".join(f".bar{number}{{fill:{pair[shade]}}}" for number, pair in enumerate(COLOURS))
        return (f".back{{fill:{back}}}text{{fill:{text}}}.quiet{{fill:{quiet}}}"
                f".one{{stroke:{text};stroke-width:1.5}}.grid{{stroke:{quiet};stroke-opacity:.35}}{bars}")
    return (f"<style>text{{font:15px 'DejaVu Sans',Verdana,sans-serif}}.title{{font-weight:bold;"
            f"font-size:18px}}{rules(0)}@media(prefers-color-scheme:dark){{{rules(1)}}}</style>")


def text(x, y, words, kind="", anchor="start"):
    return (f'<text x="{x:.0f}" y="{y:.0f}" class="{kind}" text-anchor="{anchor}">'
            f"{xml.sax.saxutils.escape(words)}</text>")


def draw(path, titles, keys, rows, labels_width):
    """rows: (label, [(number of the colour, ratio or None)]), a bar for each pair."""
    left = labels_width
    largest = min(MAX_RATIO, max(ratio for _, bars in rows for _, ratio in bars if ratio))
    unit = (WIDTH - left - NUMBERS) / largest
    height = TOP + sum(len(bars) * BAR + GAP for _, bars in rows) + BOTTOM
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
             f'viewBox="0 0 {WIDTH} {height}" role="img">', style(),
             f'<rect class="back" width="{WIDTH}" height="{height}" rx="6"/>',
             text(20, 32, titles[0], "title"), text(20, 56, titles[1], "quiet")]
    x = 20
    for number, name in keys:
        lines += [f'<rect class="bar{number}" x="{x}" y="73" width="14" height="14"/>',
                  text(x + 21, 86, name)]
        x += 46 + 9 * len(name)
    for tick in range(1, int(largest) + 1):
        x = left + tick * unit
        lines += [f'<path class="grid" d="M{x:.1f} {TOP - 8}V{height - 14}"/>',
                  text(x, TOP - 14, str(tick), "quiet", "middle")]
    top = TOP
    for label, bars in rows:
        middle = top + len(bars) * BAR / 2
        lines.append(text(left - 12, middle + 5, label, anchor="end"))
        for number, ratio in bars:
            if ratio is None:
                lines.append(text(left + unit + 7, top + 14, "not offered", "quiet"))
            else:
                long = min(ratio, largest) * unit
                beside = left + max(long, unit) + 7  # not across the line at 1
                lines += [f'<rect class="bar{number}" x="{left}" y="{top}" width="{long:.1f}" '
                          f'height="{BAR - 3}"/>', text(beside, top + 14, f"{ratio:.2f}")]
            top += BAR
        top += GAP
    lines += [f'<path class="one" d="M{left + unit:.1f} {TOP - 8}V{height - 14}"/>', "</svg>"]
    with open(path, "w", encoding="utf-8") as file:
        print("\n".join(lines), file=file)
    print(path)


def mean_ratio(layers, contestants):
    ratios = [min(layer.least[name] for name in contestants if name in layer.least) / layer.ours
              for layer in layers if any(name in layer.least for name in contestants)]
    return results.geometric_mean(ratios) if ratios else None


def by_kind(layers):
    for kind, name in NAMES.items():
        of_kind = [layer for layer in layers if layer.kind == kind]
        if of_kind:
            yield (f"{name} ({len(of_kind)})",
                   [(number, mean_ratio(of_kind, contestants))
                    for number, contestants in enumerate(BARS.values())])


def by_layer(layers, kind, threads):
    rows = {}
    for layer in layers:
        if layer.kind == kind:
            batch = layer.shapes.split("x", 1)[0]
            label = layer.name + ("" if batch == "1" else f", batch {batch}")
            rows.setdefault(label, []).append((threads.index(layer.threads), layer.ratio))
    return list(rows.items())


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return "unknown processor"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv", nargs="+")
    parser.add_argument("--output-dir", required=True)
    parser.add_argument("--processor", default=processor())
    parser.add_argument("--date")
    arguments = parser.parse_args()
    written = datetime.date.fromtimestamp(os.path.getmtime(arguments.csv[0]))
    where = f"{arguments.processor}, {arguments.date or written.strftime('%Y-%m')}"
    layers = results.compared(results.read(arguments.csv))
    threads = sorted({layer.threads for layer in layers})[:len(COLOURS)]
    layers = [layer for layer in layers if layer.threads in threads]
    alone = [layer for layer in layers if layer.threads == threads[0]]
    many = f"{threads[0]} thread{'s' if threads[0] > 1 else ''}"
    draw(os.path.join(arguments.output_dir, "peers.svg"),
         ("Time of other libraries / time of groupops; more than 1: groupops is faster",
          f"geometric means over (so many) layers of real networks; f32, {many}; {where}"),
         list(enumerate(BARS)), list(by_kind(alone)), LABELS)
    for kind in results.KINDS:
        rows = by_layer(layers, kind, threads)
        if rows:
            draw(os.path.join(arguments.output_dir, f"peers-{kind}.svg"),
                 (f"{NAMES[kind]}: time of the fastest other library / time of groupops",
                  f"f32; {where}"),
                 [(number, f"{count} threads" if count > 1 else "1 thread")
                  for number, count in enumerate(threads)], rows, LAYER_LABELS)


if __name__ == "__main__":
    main()
