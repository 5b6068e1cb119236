#!/usr/bin/env python3
"""speedup.py PROGRAM SUITE.txt... [--threads=N] [--runs=N]: one thread against more, layer by layer.

Shown are the layers of at least results.LONG_MS that gain less than half of results.MIN_SPEEDUP for each thread,
and those that more threads make slower; of several runs the least times count.
"""

import argparse
import csv
import io
import subprocess

import results

# Beyond what differs from run to run where both use one thread.
SLOWER = 1.03


def measure(options):
    least = {}
    for _ in range(options.runs):
        done = subprocess.run([options.program, str(options.threads), *options.suites],
                              stdout=subprocess.PIPE, text=True, check=True)
        for row in csv.DictReader(io.StringIO(done.stdout)):
            times = (float(row["ms_one"]), float(row["ms_many"]))
            before = least.get(row["layer"], (times, None))[0]
            least[row["layer"]] = (tuple(map(min, before, times)), row)
    return least


def show(title, layers):
    print(f"{title}: {len(layers)}\n")
    if layers:
        print("| layer | algorithm | threads | 1 thread, ms | more, ms | times as fast |\n"
              "|---|---|---|---|---|---|")
    for name, ((one, many), row) in sorted(layers, key=lambda layer: layer[1][0][0] / layer[1][0][1]):
        print(f"| {name} | {row['algorithm']} | {row['threads_used']} | {one:.3f} | {many:.3f} | "
              f"{one / many:.2f} |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("suites", nargs="+")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    layers = list(measure(options).items())
    long = [layer for layer in layers if layer[1][0][0] >= results.LONG_MS]
    wanted = options.threads * results.MIN_SPEEDUP / 2
    mean = results.geometric_mean(one / many for _, ((one, many), _) in long)
    print(f"{len(layers)} layers, {len(long)} of at least {results.LONG_MS} ms, which gain "
          f"{mean:.2f} in the geometric mean\n")
    show(f"of those below {wanted}", [layer for layer in long
                                      if layer[1][0][0] / layer[1][0][1] < wanted])
    show(f"slower with {options.threads}", [layer for layer in layers
                                           if layer[1][0][1] > SLOWER * layer[1][0][0]])


if __name__ == "__main__":
    main()
