#!/usr/bin/env python3
"""picture.py CSV... --output-dir=DIR: bars of the ratio, best peer's time / ours, by gnuplot.

peers.png has a bar for each network and kind of layer (the geometric mean, and a mark for the worst
layer); peers-KIND.png a bar for each layer.
"""

import argparse
import os
import subprocess

import results

ROW_PIXELS = 28
MARGIN_PIXELS = 150
WIDTH_PIXELS = 1100
LONGEST_LABEL = 46
THREADS = (1, 2)
# Colours of threads 1 and 2, where the ratio is at least 1 and below.
FASTER = ("#1f6f8b", "#8fc1d4")
SLOWER = ("#b3432b", "#e6a693")


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def bars(row, values, with_worst):
    """Rectangles from 1 to the ratio, one below the other for the threads, and their numbers: at
    the bar's end, or with the worst layer's on the right."""
    lines = []
    for index, threads in enumerate(THREADS):
        if threads not in values:
            continue
        ratio, worst = values[threads]
        top = row - 0.40 + 0.40 * index
        colour = (FASTER if ratio >= 1 else SLOWER)[index]
        lines.append(f"set object rectangle from first 1,{top:.2f} to first {ratio:.4f},"
                     f"{top + 0.36:.2f} fillcolor rgb '{colour}' fillstyle solid noborder")
        if with_worst:
            place = f"graph 1, first {top + 0.18:.2f} left offset 1,0"
            text = f"{ratio:.2f}" + (f" (worst {worst:.2f})" if worst is not None else "")
        else:
            side = "left offset 0.5,0" if ratio >= 1 else "right offset -0.5,0"
            place = f"first {ratio:.4f},{top + 0.18:.2f} {side}"
            text = f"{ratio:.2f}"
        lines.append(f"set label '{text}' at {place} font ',8' textcolor rgb '#404040'")
        if worst is not None:
            lines.append(f"set label '' at first {worst:.4f},{top + 0.18:.2f} point pointtype 2 "
                         f"pointsize 0.8 linewidth 2 linecolor rgb '#202020'")
    return lines


def draw(path, title, rows, marks):
    """rows: (label, {threads: (ratio, worst or None)}); marks: ratios with a dashed line."""
    ratios = [value for _, values in rows for pair in values.values() for value in pair if value]
    low = min([0.5, *ratios]) / 1.3
    high = max([2, *ratios]) * 1.35
    ticks = ", ".join(f"'{tick:g}×' {tick}" for tick in
                      (1 / 64, 1 / 32, 1 / 16, 0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64)
                      if low <= tick <= high)
    labels = ", ".join(f"{quoted(label[:LONGEST_LABEL])} {index}"
                       for index, (label, _) in enumerate(rows))
    script = [
        f"set terminal pngcairo size {WIDTH_PIXELS},{MARGIN_PIXELS + ROW_PIXELS * len(rows)} "
        "font 'DejaVu Sans,10' background rgb 'white'",
        f"set output {quoted(path)}",
        f"set title {quoted(title)} noenhanced offset 0,0.5",
        "set logscale x 2",
        f"set xrange [{low}:{high}]",
        f"set yrange [{len(rows) - 0.4}:-0.6]",
        f"set xtics ({ticks})",
        f"set x2tics ({ticks})",
        "set logscale x2 2",
        f"set x2range [{low}:{high}]",
        f"set ytics ({labels}) noenhanced font ',9' scale 0",
        "set grid xtics linecolor rgb '#e0e0e0' linetype 1",
        "set border 0",
        "set key center bmargin horizontal",
        "set arrow from first 1, graph 0 to first 1, graph 1 nohead linecolor rgb '#202020' back",
    ]
    for mark in marks:
        if mark != 1:
            script.append(f"set arrow from first {mark}, graph 0 to first {mark}, graph 1 nohead "
                          "dashtype 2 linecolor rgb '#808080' back")
    with_worst = any(worst for _, values in rows for _, worst in values.values())
    script.append(f"set rmargin {18 if with_worst else 4}")
    for index, (_, values) in enumerate(rows):
        script += bars(index, values, with_worst)
    keys = [f"NaN with boxes fillstyle solid linecolor rgb '{FASTER[index]}' "
            f"title '{threads} thread{'s' if threads > 1 else ''}'"
            for index, threads in enumerate(THREADS)]
    if with_worst:
        keys.append("NaN with points pointtype 2 pointsize 0.8 linewidth 2 linecolor rgb '#202020' "
                    "title 'worst layer'")
    script.append("plot " + ", ".join(keys))
    subprocess.run(["gnuplot", "-"], input="\n".join(script), text=True, check=True)
    print(path)


def by_network(layers):
    """A row for each network and kind."""
    rows = {}
    for layer in layers:
        rows.setdefault((layer.kind, layer.network), {}).setdefault(layer.threads, []).append(
            layer.ratio)
    for kind in results.KINDS:
        for (of_kind, network), values in rows.items():
            if of_kind == kind:
                yield f"{network}, {kind}", {
                    threads: (results.geometric_mean(ratios), min(ratios) if len(ratios) > 1 else None)
                    for threads, ratios in values.items()}


def by_layer(layers, kind):
    rows = {}
    for layer in layers:
        if layer.kind == kind:
            batch = layer.shapes.split("x", 1)[0]
            label = layer.name + ("" if batch == "1" else f", batch {batch}")
            rows.setdefault(label, {})[layer.threads] = (layer.ratio, None)
    return list(rows.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("csv", nargs="+")
    parser.add_argument("--output-dir", required=True)
    arguments = parser.parse_args()
    layers = results.compared(results.read(arguments.csv))
    draw(os.path.join(arguments.output_dir, "peers.png"),
         "time of the fastest of oneDNN, ONNX Runtime and PyTorch / ours; geometric means",
         list(by_network(layers)), [])
    for kind, marks in results.KINDS.items():
        rows = by_layer(layers, kind)
        if rows:
            draw(os.path.join(arguments.output_dir, f"peers-{kind}.png"),
                 f"{kind}: best peer's time / ours (dashed: asked of each layer, of the mean)",
                 rows, marks)


if __name__ == "__main__":
    main()
