"""The other end of torch.c: runs layers in PyTorch and answers how long they took.

Each request is a line on standard input; each answer on standard output begins with the line "ok
..." or "no REASON".

    prepare JSON   followed by the float32 values of the inputs, in that order
    run N          answers N int64 of nanoseconds after its line
    output N       answers the N float32 of the last result after its line
"""

import array
import ctypes
import json
import math
import sys
import time


def convolution(torch, layer, data, weights):
    functional = torch.nn.functional
    spatial = data.dim() - 2
    if layer["pads_begin"] != layer["pads_end"]:
        raise ValueError("pads differ at the two ends")
    transposed = layer["op"] == "deconv"
    groups, first, second = weights.shape[:3]
    weights = weights.reshape([groups * first, second, *weights.shape[3:]])
    name = f"conv_transpose{spatial}d" if transposed else f"conv{spatial}d"
    function = getattr(functional, name)
    options = {
        "stride": layer["strides"],
        "padding": layer["pads_begin"],
        "dilation": layer["dilations"],
        "groups": groups,
    }
    if transposed:
        options["output_padding"] = layer["output_padding"]
    return lambda: function(data, weights, None, **options)


def normalization(torch, layer, data, scale, bias):
    group_norm = torch.nn.functional.group_norm
    return lambda: group_norm(data, layer["groups"], scale, bias, layer["epsilon"])


def set_threads(torch, count):
    """PyTorch sets OpenMP's threads; OpenBLAS on POSIX threads, for its products, has its own number."""
    torch.set_num_threads(count)
    try:
        ctypes.CDLL("libblas.so.3").openblas_set_num_threads(count)
    except (OSError, AttributeError):  # another BLAS
        pass


def prepare(torch, layer, source):
    inputs = []
    for index in range(layer["inputs"]):
        shape = layer[f"input{index}"]
        values = bytearray(source.read(4 * math.prod(shape)))
        inputs.append(torch.frombuffer(values, dtype=torch.float32).reshape(shape))
    set_threads(torch, layer["threads"])
    make = normalization if layer["op"] == "norm" else convolution
    function = make(torch, layer, *inputs)
    function()
    return function


def main():
    source = sys.stdin.buffer
    sink = sys.stdout.buffer

    def say(text, values=b""):
        sink.write(text.replace("\n", " ").encode() + b"\n")
        sink.write(values)
        sink.flush()

    try:
        import torch
    except ImportError as error:
        say(f"no {error}")
        return
    say(f"ok {torch.__version__}")
    function = result = None
    with torch.inference_mode():
        for line in source:
            request, _, argument = line.decode().partition(" ")
            try:
                if request == "prepare":
                    function = prepare(torch, json.loads(argument), source)
                    say(f"ok {torch.__version__}")
                elif request == "run":
                    times = array.array("q")
                    for _ in range(int(argument)):
                        start = time.perf_counter_ns()
                        result = function()
                        times.append(time.perf_counter_ns() - start)
                    say("ok", times.tobytes())
                elif request == "output":
                    result = result.contiguous()
                    say("ok", ctypes.string_at(result.data_ptr(), 4 * int(argument)))
                else:
                    say(f"no request {request}")
            except (RuntimeError, ValueError) as error:
                say(f"no {error}")


if __name__ == "__main__":
    main()
