#!/usr/bin/env python3
"""ranks.py GROUPOPS_MPI WRITE_UNET: the time of layers and of U-Nets spread over the ranks of this machine,
beside one rank.

Prints a table of them, of the networks with the halo that a formula gives, then what a model makes of the
last layer on more machines, and draws both into --picture=FILE.svg. The model of p ranks, each with a brick of
1/p of the volume:

    time(p) = time(1) / p + copied(p) / copying + messages(p) * latency + received(p) / bandwidth

copied(p) is what a rank packs and unpacks of its halo: what it sends and what it receives, at the
rate that was measured. Latency and bandwidth are those of the network, which one machine cannot
tell: --latency-us and --gbytes. Nothing of the exchange is taken to hide behind computing.
"""

import argparse
import itertools
import os
import subprocess
import sys
import tempfile

# name, flags; the last one is the model's: CHANNELS and SIDE are of it.
CHANNELS, SIDE = 16, 128
LAYERS = [
    ("3D, 32 channels, 64^3", "1,32,64,64,64", "1,32,32,3,3,3", "1,1,1", "z"),
    ("2D, 64 channels, 224x224", "1,64,224,224", "1,64,64,3,3", "1,1", "y"),
    ("2D, 128 to 256 channels, 112x112", "1,128,112,112", "1,256,128,3,3", "1,1", "y"),
    ("3D, 16 channels, 128^3", f"1,{CHANNELS},{SIDE},{SIDE},{SIDE}",
     f"1,{CHANNELS},{CHANNELS},3,3,3", "1,1,1", "z"),
]
# Channels and levels of 3D U-Nets of 128^3, split along z.
NETWORKS = [(16, 3), (32, 3)]
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMP_NUM_THREADS": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
COLUMNS = ("rank", "ms", "computing", "waiting", "copying", "sent", "received", "messages")


def run(program, ranks, *words, folder=None):
    """The slowest rank's row of one run: the lines of ranks are the last."""
    words = ["mpirun", "-n", ranks, program, *words, "--threads=1"]
    done = subprocess.run([str(word) for word in words], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, cwd=folder, text=True,
                          env={**os.environ, **ENVIRONMENT})
    lines = done.stdout.splitlines()[-ranks:]
    return max((dict(zip(COLUMNS, map(float, line.split()))) for line in lines),
               key=lambda row: row["ms"])


def measure(program, ranks, layer):
    _, data, filter_shape, pads, split = layer
    return run(program, ranks, "bench", "conv", f"--data={data}", f"--filter={filter_shape}",
               f"--pads-begin={pads}", f"--pads-end={pads}", f"--split={split}")


def print_row(name, one, many):
    print(f"| {name} | {one['ms']:.2f} | {many['ms']:.2f} | {one['ms'] / many['ms']:.2f} "
          f"| {many['copying']:.3f} | {many['received']:.0f} |", flush=True)


def halo(channels, levels):
    """Bytes that the first rank gets in one run of a U-Net: before each convolution of 3 x 3 x 3 a row
    of all its channels, of a volume that each level halves."""
    read = [[2, channels] + [channels] * 2]
    read += [[channels << level] * 4 for level in range(1, levels - 1)]
    read += [[channels << levels - 1] * 2]
    return sum(4 * sum(inputs) * (SIDE >> level) ** 2 for level, inputs in enumerate(read))


def measure_networks(options):
    """Returns a line for each network: its halo by the formula."""
    formula = []
    for channels, levels in NETWORKS:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([options.write_unet, f"{SIDE},{SIDE},{SIDE}", f"channels={channels}",
                            f"levels={levels}"], check=True, cwd=folder)
            runs = [[run(options.program, ranks, "ir", "unet.xml", "--split=z", folder=folder)
                     for ranks in (1, options.ranks)] for _ in range(options.rounds)]
        one, many = (min((each[i] for each in runs), key=lambda row: row["ms"]) for i in (0, 1))
        print_row(f"3D U-Net, {channels} channels, {levels} levels, {SIDE}^3", one, many)
        formula.append(f"{channels} channels: {halo(channels, levels)} bytes")
    return formula


def grid(ranks):
    """Three factors as near to each other as can be, as MPI_Dims_create gives them."""
    found = [(a, b, ranks // a // b) for a, b in itertools.product(range(1, ranks + 1), repeat=2)
             if ranks % (a * b) == 0]
    return min(found, key=lambda cut: (max(cut) - min(cut), cut))


def model(ranks, one, rate, options):
    """Milliseconds of `ranks` bricks, of a 3x3x3 kernel; `rate` in bytes a millisecond."""
    cut = grid(ranks)
    side = [SIDE / count for count in cut]
    with_halo = 1
    for length, count in zip(side, cut):
        with_halo *= length + min(2, count - 1)
    received = 4 * CHANNELS * (with_halo - side[0] * side[1] * side[2])
    neighbours = 1
    for count in cut:
        neighbours *= min(3, count)
    network = (neighbours - 1) * options.latency_us / 1e3 + received / (options.gbytes * 1e6)
    return one / ranks + (2 * received / rate + network if ranks > 1 else 0)


def draw(path, measured, modelled):
    lines = ["set terminal svg size 760,480 font 'DejaVu Sans,13' background rgb 'white'",
             f"set output '{path}'", "set logscale xy 2", "set grid", "set key left top",
             "set xlabel 'ranks'", "set ylabel 'times as fast as one rank'",
             "set xrange [1:1024]", "set yrange [1:1024]",
             "$measured << END", *[f"{ranks} {ratio:.3f}" for ranks, ratio in measured], "END",
             "$modelled << END", *[f"{ranks} {ratio:.3f}" for ranks, ratio in modelled], "END",
             "plot x title 'as many times' linecolor rgb '#c0c0c0', $modelled title 'model' with lines "
             "linecolor rgb '#2b6cb0' linewidth 2, $measured title 'measured, one machine' with points "
             "pointtype 7 linecolor rgb '#c05621'"]
    subprocess.run(["gnuplot", "-"], check=True, input="\n".join(lines), text=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("write_unet", type=os.path.abspath)
    parser.add_argument("--ranks", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--latency-us", type=float, default=2)
    parser.add_argument("--gbytes", type=float, default=12.5, help="a second, of the network (12.5)")
    parser.add_argument("--picture")
    options = parser.parse_args()
    if options.ranks < 2:
        raise SystemExit("there is one processor; ranks are measured on two or more")
    print(f"| layer | 1 rank, ms | {options.ranks} ranks, ms | ratio | of these copying, ms "
          "| halo, bytes |\n|---|---|---|---|---|---|")
    for layer in LAYERS:
        runs = [[measure(options.program, ranks, layer) for ranks in (1, options.ranks)]
                for _ in range(options.rounds)]
        one, many = (min((run[i] for run in runs), key=lambda row: row["ms"]) for i in (0, 1))
        print_row(layer[0], one, many)
    formula = measure_networks(options)
    print("\nThe U-Nets' halo of a rank with one neighbour, by formula: " + ", ".join(formula) + ".")
    rate = (many["sent"] + many["received"]) / many["copying"]
    modelled = [(ranks, one["ms"] / model(ranks, one["ms"], rate, options))
                for ranks in (1 << power for power in range(11))]
    print(f"\nThe model, copying {rate / 1e6:.1f} GB/s, {options.latency_us:g} us a message, "
          f"{options.gbytes:g} GB/s:\n\n| ranks | bricks | ms | times one rank | efficiency |\n"
          "|---|---|---|---|---|")
    for ranks, ratio in modelled:
        if ranks in (2, 8, 64, 1024):
            print(f"| {ranks} | {' x '.join(map(str, grid(ranks)))} | {one['ms'] / ratio:.3f} "
                  f"| {ratio:.1f} | {ratio / ranks:.2f} |")
    if options.picture:
        draw(options.picture, [(1, 1), (options.ranks, one["ms"] / many["ms"])], modelled)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as failure:
        print(failure.stdout or "", failure.stderr or "", sep="", end="", file=sys.stderr)
        raise SystemExit(f"{' '.join(failure.cmd)} failed with status {failure.returncode}") from failure
