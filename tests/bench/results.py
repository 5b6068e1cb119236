"""Reads what `peers` wrote, and compares this library with the best of the others."""

import csv
import dataclasses
import math

OURS = "groupops"
# What an engine could have instead. ONNX Runtime runs inside a chain of equal layers where the shapes
# allow, so that its own layout costs it next to nothing. For comparison, no more: "onednn-layout"
# leaves its reorders uncounted; "onnxruntime-single" is one layer between plain tensors.
PEERS = {
    "onednn": "oneDNN",
    "onednn-plain": "oneDNN, plain",
    "onnxruntime": "ONNX Runtime",
    "pytorch": "PyTorch",
}

# kind: what every layer and the geometric mean must reach.
KINDS = {
    "grouped": (1.0, 1.5),
    "depthwise": (1.0, 1.3),
    "transposed": (1.0, 2.0),
    "dense": (0.9, 1.0),
    "pointwise": (0.9, 1.0),
    "norm": (1.5, 2.0),
}
MAX_COPIES = 1.6  # times a copy, for a normalization whose group fits the cache
CACHE_BYTES = 1 << 20  # of one core: its L2
# By so much may a forced algorithm be faster before the plan's choice counts as wrong.
CHOICE_MARGIN = 1.1
# From 1 to 2 threads, for layers above LONG_MS.
LONG_MS = 1.0
MIN_SPEEDUP = 1.8


@dataclasses.dataclass
class Layer:
    """One layer at one number of threads: milliseconds and note by contestant."""

    name: str
    network: str
    kind: str
    shapes: str
    gflop: float
    threads: int
    least: dict
    notes: dict

    @property
    def ours(self):
        return self.least[OURS]

    @property
    def forced(self):
        """Milliseconds by each algorithm that serves the layer."""
        return {name.removeprefix(OURS + "-"): least for name, least in self.least.items()
                if name.startswith(OURS + "-")}

    @property
    def best_peer(self):
        present = [name for name in PEERS if name in self.least]
        return min(present, key=self.least.get) if present else None

    @property
    def ratio(self):
        return self.least[self.best_peer] / self.ours if self.best_peer else math.nan

    @property
    def plain_ratio(self):
        """The same with ONNX Runtime between plain tensors, too, instead of in a chain."""
        least = dict(self.least)
        least["onnxruntime"] = least.get("onnxruntime-single", least.get("onnxruntime", math.inf))
        return min(least.get(name, math.inf) for name in PEERS) / self.ours

    @property
    def misses(self):
        return self.ratio < KINDS[self.kind][0]

    @property
    def copies(self):
        """Times a copy; None where nothing is asked."""
        if self.kind != "norm" or "copy" not in self.least:
            return None
        shape, groups = self.shapes.split(" g")
        dims = [int(dim) for dim in shape.split("x")]
        group_bytes = 4 * math.prod(dims[1:]) // int(groups)
        return self.ours / self.least["copy"] if group_bytes <= CACHE_BYTES else None


def read(paths):
    """The layers in the order of the files; of several runs of one layer the least times count."""
    layers = {}
    for path in paths:
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                key = (row["layer"], row["shapes"], row["threads"])
                if key not in layers:
                    layers[key] = Layer(row["layer"], row["network"], row["kind"], row["shapes"],
                                        float(row["gflop"]), int(row["threads"]), {}, {})
                layer = layers[key]
                layer.notes[row["contestant"]] = row["note"]
                if row["ms_min"]:
                    layer.least[row["contestant"]] = min(
                        float(row["ms_min"]), layer.least.get(row["contestant"], math.inf))
    return list(layers.values())


def geometric_mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def compared(layers):
    """The layers that this library and at least one peer computed; the program ends if there are none."""
    found = [layer for layer in layers if OURS in layer.least and layer.best_peer]
    if not found:
        raise SystemExit(f"nothing to compare: no layer has times of {OURS} and of one of {', '.join(PEERS)}")
    return found


def wrong(layers):
    """Results that were wrong, and what this library did not compute; nothing is measured of them."""
    for layer in layers:
        for name, note in layer.notes.items():
            if note.startswith("WRONG") or (name == OURS and OURS not in layer.least):
                yield f"{layer.name} ({layer.shapes}), threads {layer.threads}, {name}: {note}"
