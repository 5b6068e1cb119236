#!/usr/bin/env python3
"""history.py CSV... --history=FILE: appends what `peers` measured to the history of speed, a line for each
layer, draws all of it beside FILE as history.svg, and names the layers whose ratio stepped back.

A line has the date and time, the commit, the processor, the layer, our time, and the ratio of each peer's time to
it. The ratio hardly depends on what else the machine does: in `peers` all take turns. A step back is a
layer whose ratio to the fastest peer is less than BACK times that of the last run on this processor.
Without a CSV of `peers` it only draws.
"""

import argparse
import csv
import datetime
import os
import subprocess
import sys

import picture
import results

COLUMNS = ["date", "commit", "processor", "threads", "kind", "layer", "shapes", "ms", *results.PEERS]
BACK = 0.9
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 880, 420, 60, 150, 90, 60
COLOURS = ["#2b6cb0", "#c05621", "#2f855a", "#805ad5", "#b7791f", "#c53030"]


def read(path):
    if not os.path.exists(path):
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def measured(paths, date, commit, processor):
    for layer in results.compared(results.read(paths)):
        row = {"date": date, "commit": commit, "processor": processor, "threads": str(layer.threads),
               "kind": layer.kind, "layer": layer.name, "shapes": layer.shapes, "ms": f"{layer.ours:.5f}"}
        for peer in results.PEERS:
            row[peer] = f"{layer.least[peer] / layer.ours:.3f}" if peer in layer.least else ""
        yield row


def append(path, rows):
    fresh = not os.path.exists(path)
    with open(path, "a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if fresh:
            writer.writeheader()
        writer.writerows(rows)


def ratio(row):
    """To the fastest peer."""
    return min(float(row[peer]) for peer in results.PEERS if row[peer])


def key(row):
    return row["layer"], row["shapes"], row["threads"]


def runs(rows):
    """The rows of each run, in the order of the file."""
    found = {}
    for row in rows:
        found.setdefault((row["date"], row["commit"], row["processor"]), []).append(row)
    return found


def steps_back(before, after):
    """Pairs of rows of one layer, the worst first."""
    old = {key(row): row for row in before}
    pairs = [(old[key(row)], row) for row in after if key(row) in old]
    back = [pair for pair in pairs if ratio(pair[1]) < BACK * ratio(pair[0])]
    return sorted(back, key=lambda pair: ratio(pair[1]) / ratio(pair[0]))


def tell(before, after):
    back = steps_back(before, after)
    print(f"{len(after)} layers; {len(back)} stepped back since {before[0]['date']}, {before[0]['commit']}")
    if back:
        print("\n| layer | threads | ratio before | now |\n|---|---|---|---|")
    for old, new in back:
        print(f"| {new['layer']} {new['shapes']} | {new['threads']} | {ratio(old):.2f} | {ratio(new):.2f} |")


def draw(path, found, processor):
    """The geometric mean of each kind's ratios over the runs on one processor, one thread."""
    series = [(date, commit, {kind: results.geometric_mean(
        [ratio(row) for row in rows if row["kind"] == kind and row["threads"] == "1"])
        for kind in results.KINDS}) for (date, commit, where), rows in found.items() if where == processor]
    means = [mean for _, _, kinds in series for mean in kinds.values() if mean == mean]
    largest = max([2.0, *means]) * 1.05
    step = (WIDTH - LEFT - RIGHT) / max(1, len(series) - 1)

    def place(number, mean):
        return LEFT + number * step, HEIGHT - BOTTOM - mean / largest * (HEIGHT - TOP - BOTTOM)

    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
             f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img">', picture.style(),
             f'<rect class="back" width="{WIDTH}" height="{HEIGHT}" rx="6"/>',
             picture.text(20, 32, "Time of the fastest other library / time of groupops, commit by commit",
                          "title"),
             picture.text(20, 56, f"geometric means over the layers of a kind; f32, 1 thread; {processor}",
                          "quiet")]
    for tick in range(0, int(largest) + 1):
        y = place(0, tick)[1]
        lines += [f'<path class="{"one" if tick == 1 else "grid"}" d="M{LEFT - 8} {y:.1f}H{WIDTH - RIGHT + 8}"/>',
                  picture.text(LEFT - 16, y + 5, str(tick), "quiet", "end")]
    every = 1 + len(series) // 8 # names that would overlap are left out
    for number, (date, commit, _) in enumerate(series):
        if number % every == 0:
            x = place(number, 0)[0]
            lines += [picture.text(x, HEIGHT - BOTTOM + 22, commit, "quiet", "middle"),
                      picture.text(x, HEIGHT - BOTTOM + 42, date.partition(" ")[0], "quiet", "middle")]
    labels = []
    for (kind, name), colour in zip(picture.NAMES.items(), COLOURS):
        known = [(number, kinds[kind]) for number, (_, _, kinds) in enumerate(series) if kinds[kind] == kinds[kind]]
        points = [place(number, mean) for number, mean in known]
        if points:
            joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            lines.append(f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2"/>')
            lines += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>' for x, y in points]
            labels.append((points[-1][1], points[-1][0], name, known[-1][1], colour))
    under = 0.0
    for y, x, name, mean, colour in sorted(labels):
        under = max(y + 5, under + 18)  # labels do not overlap
        lines += [f'<path d="M{x + 7:.0f} {y:.0f}L{WIDTH - RIGHT + 12} {under - 5:.0f}" stroke="{colour}" '
                  f'stroke-opacity=".5"/>',
                  picture.text(WIDTH - RIGHT + 16, under, f"{name} {mean:.2f}")]
    with open(path, "w", encoding="utf-8") as file:
        print("\n".join([*lines, "</svg>"]), file=file)
    print(path)


def head():
    """The commit that was measured, with a mark where the tree is not what was committed."""
    return subprocess.run(["git", "describe", "--always", "--dirty", "--exclude=*"], check=True, text=True,
                          cwd=os.path.dirname(os.path.abspath(__file__)),
                          stdout=subprocess.PIPE).stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv", nargs="*")
    parser.add_argument("--history", required=True)
    parser.add_argument("--processor", default=picture.processor())
    parser.add_argument("--date", default=datetime.datetime.now().isoformat(" ", "minutes"))
    parser.add_argument("--commit")
    arguments = parser.parse_args()
    if arguments.csv:
        commit = arguments.commit or head()
        append(arguments.history, list(measured(arguments.csv, arguments.date, commit, arguments.processor)))
    found = runs(read(arguments.history))
    here = [rows for (_, _, processor), rows in found.items() if processor == arguments.processor]
    if not here:
        sys.exit(f"{arguments.history} has no run on {arguments.processor}")
    if len(here) > 1:
        tell(here[-2], here[-1])
    draw(os.path.join(os.path.dirname(arguments.history) or ".", "history.svg"), found, arguments.processor)


if __name__ == "__main__":
    main()
