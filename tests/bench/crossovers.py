#!/usr/bin/env python3
"""crossovers.py TOOL SUITE.txt... [--threads=N] [--csv=FILE]: the plan's estimates beside the truth.

For every layer all algorithms that serve it are measured in turns (algorithm=fastest). Shown are the
layers where the one with the least estimate was not the fastest and by how much, and for each
algorithm where it pays and how its estimates compare with the measured times. GROUPOPS_ISA=avx2 or portable shows it
for that instruction set.
"""

import argparse
import csv
import dataclasses
import json
import math
import os
import re
import shlex
import subprocess
import sys

TRIAL = re.compile(r"([a-z0-9_/]+) measured ([0-9.]+), estimated ([0-9.]+) ms")
# A choice within this of the fastest is no mistake: as much differs from run to run.
TOLERANCE = 1.05
# An algorithm pays where all others take this much longer.
PAYS = 1.1
MIN_MS = 0.0001  # what is printed as 0


@dataclasses.dataclass
class Layer:
    name: str
    operation: str
    measured: dict  # milliseconds by algorithm
    estimated: dict

    @property
    def chosen(self):
        return min(self.estimated, key=self.estimated.get)

    @property
    def fastest(self):
        return min(self.measured, key=self.measured.get)

    @property
    def regret(self):
        return self.measured[self.chosen] / self.measured[self.fastest]

    def without(self, algorithm):
        """How many times as long the layer takes where the algorithm is not there."""
        others = [ms for name, ms in self.measured.items() if name != algorithm]
        return min(others) / min(self.measured.values())


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = shlex.split(line, comments=True)
            if words:
                yield words


def measure(tool, words, threads):
    name, operation, element, *flags = words
    flags = [flag for flag in flags if flag != "bare-gemm" and not flag.startswith("algorithm=")]
    done = subprocess.run(
        [tool, "plan", operation, f"--type={element}", *(f"--{flag}" for flag in flags),
         f"--threads={threads}", "--algorithm=fastest", "--json"],
        stdout=subprocess.PIPE, text=True, check=True)
    trials = TRIAL.findall(json.loads(done.stdout)["why"])
    return Layer(name, operation,
                 {trial[0]: max(MIN_MS, float(trial[1])) for trial in trials},
                 {trial[0]: max(MIN_MS, float(trial[2])) for trial in trials})


def mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values))


def report(layers):
    print("| layer | auto | ms | fastest | ms | regret |\n|---|---|---|---|---|---|")
    for layer in sorted(layers, key=lambda layer: -layer.regret):
        if layer.regret > TOLERANCE:
            print(f"| {layer.name} | {layer.chosen} | {layer.measured[layer.chosen]:.4f} | "
                  f"{layer.fastest} | {layer.measured[layer.fastest]:.4f} | {layer.regret:.2f} |")
    right = sum(layer.regret <= TOLERANCE for layer in layers)
    print(f"\n{len(layers)} layers with a choice; auto within {TOLERANCE} of the fastest on {right}; "
          f"geometric mean {mean(layer.regret for layer in layers):.3f}, "
          f"worst {max(layer.regret for layer in layers):.2f}\n")
    print("| operation | algorithm | layers | fastest on | pays on | without it, at most | "
          "measured / estimated, mean | least | most |\n|---|---|---|---|---|---|---|---|---|")
    for operation in ("conv", "deconv", "norm"):
        chosen = [layer for layer in layers if layer.operation == operation]
        for algorithm in sorted({name for layer in chosen for name in layer.measured}):
            ratios = [layer.measured[algorithm] / layer.estimated[algorithm]
                      for layer in chosen if algorithm in layer.measured]
            wins = sum(layer.fastest == algorithm for layer in chosen)
            without = [layer.without(algorithm) for layer in chosen]
            print(f"| {operation} | {algorithm} | {len(ratios)} | {wins} | "
                  f"{sum(ratio > PAYS for ratio in without)} | {max(without):.2f} | "
                  f"{mean(ratios):.2f} | {min(ratios):.2f} | {max(ratios):.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("suites", nargs="+")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--csv", help="every layer and algorithm, as measured and estimated")
    options = parser.parse_args()
    layers = []
    for suite in options.suites:
        for words in lines_of(suite):
            layer = measure(options.tool, words, options.threads)
            if len(layer.measured) > 1:
                layers.append(layer)
        print(f"{os.path.basename(suite)} measured", file=sys.stderr)
    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["layer", "operation", "algorithm", "ms", "estimated_ms"])
            writer.writerows([layer.name, layer.operation, algorithm, layer.measured[algorithm],
                              layer.estimated[algorithm]]
                             for layer in layers for algorithm in layer.measured)
    if not layers:
        raise SystemExit("no layer has a choice of algorithms")
    report(layers)


if __name__ == "__main__":
    main()
