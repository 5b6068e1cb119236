"""The part of include/groupops/ that the module uses, declared for ctypes."""

import ctypes
import os
import struct
from ctypes import POINTER, byref, c_bool, c_char, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_void_p

MAX_SPATIAL = 6
MAX_RANK = MAX_SPATIAL + 3
MESSAGE_BYTES = 320
WORKSPACE_ALIGNMENT = 64

OK, UNSUPPORTED = 0, 2
ACCURACIES = {"exact": 0, "relaxed": 1}
# Of gops_activation_kind.
RELU, CLAMP, LEAKY_RELU, SIGMOID, HARD_SWISH, SWISH, HARD_SIGMOID = 1, 2, 3, 4, 6, 7, 11


class Error(ctypes.Structure):
    _fields_ = [("status", c_int), ("message", c_char * MESSAGE_BYTES)]


class Tensor(ctypes.Structure):
    _fields_ = [("type", c_int), ("rank", c_int32), ("dims", c_int64 * MAX_RANK)]


class List(ctypes.Structure):
    _fields_ = [("count", c_int32), ("values", c_int64 * MAX_SPATIAL)]


class ConvAttributes(ctypes.Structure):
    _fields_ = [("strides", List), ("pads_begin", List), ("pads_end", List), ("dilations", List), ("auto_pad", c_int)]


class DeconvAttributes(ctypes.Structure):
    _fields_ = [
        ("strides", List),
        ("pads_begin", List),
        ("pads_end", List),
        ("dilations", List),
        ("output_padding", List),
        ("output_shape", List),
        ("auto_pad", c_int),
        ("output_shape_rule", c_int),
    ]


class NormAttributes(ctypes.Structure):
    _fields_ = [("num_groups", c_int64), ("epsilon", c_double)]


class Activation(ctypes.Structure):
    _fields_ = [("kind", c_int), ("alpha", c_double), ("beta", c_double)]


class Options(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("algorithm", c_char_p),
        ("threads", c_int32),
        ("max_workspace", c_int64),
        ("host", c_void_p),
        ("output_type", c_int),
        ("saturate", c_bool),
        ("activation", Activation),
        ("choices", c_void_p),
        ("residual_type", c_int),
        ("accuracy", c_int),
        ("residual_after_activation", c_bool),
        ("divisible", c_bool),
        ("moments", c_int),
        ("data_channel_stride", c_int64),
        ("output_channel_stride", c_int64),
    ]


class Shape(ctypes.Structure):
    _fields_ = [("output", Tensor), ("pads_begin", List), ("pads_end", List), ("groups", c_int64)]


class PlanInfo(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("shape", Shape),
        ("algorithm", c_char_p),
        ("why", c_char_p),
        ("threads", c_int32),
        ("workspace_bytes", c_size_t),
        ("filter_bytes", c_size_t),
        ("flops", c_int64),
    ]


# gops_arguments: size, data, filter, scale, bias, output, residual, mean, variance, data_zero_point,
# workspace, workspace_bytes, three strides. As bytes, since a ctypes structure takes 1 us to fill.
ARGUMENTS = struct.Struct("@N10PN3q")


class GroupopsError(RuntimeError):
    """A refusal of the library, with its message; `status` is the gops_status."""

    def __init__(self, status, message):
        super().__init__("groupops: " + message)
        self.status = status


def library_path():
    """The path that the library is loaded from, or a bare name, which the system's loader finds."""
    given = os.environ.get("GROUPOPS_LIBRARY")
    if given:
        return given
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libgroupops.so")
    return beside if os.path.exists(beside) else "libgroupops.so.0.1"


def _load():
    try:
        library = ctypes.CDLL(library_path())
    except OSError as failure:
        raise OSError(f"{failure}; GROUPOPS_LIBRARY, in the environment, may give the path of libgroupops.so") from None
    plan = POINTER(c_void_p)
    error = POINTER(Error)
    for name, parameters in {
        "conv_plan_create": [POINTER(Tensor), POINTER(Tensor), POINTER(ConvAttributes), POINTER(Options), plan, error],
        "deconv_plan_create": [
            POINTER(Tensor), POINTER(Tensor), POINTER(DeconvAttributes), POINTER(Options), plan, error,
        ],
        "norm_plan_create": [
            POINTER(Tensor), POINTER(Tensor), POINTER(Tensor), POINTER(NormAttributes), POINTER(Options), plan, error,
        ],
        "plan_get_info": [c_void_p, POINTER(PlanInfo), error],
        "plan_cache_create": [c_void_p, c_int32, plan, error],
        "plan_cache_get": [c_void_p, POINTER(Tensor), c_void_p, plan, error],
        "filter_create": [c_void_p, c_void_p, c_void_p, plan, error],
        "execute": [c_void_p, c_char_p, error],
    }.items():
        function = getattr(library, "gops_" + name)
        function.argtypes = parameters
        function.restype = c_int
    for name, parameters in {
        "plan_destroy": [c_void_p],
        "plan_cache_destroy": [c_void_p],
        "plan_cache_release": [c_void_p, c_void_p],
        "filter_destroy": [c_void_p],
    }.items():
        function = getattr(library, "gops_" + name)
        function.argtypes = parameters
        function.restype = None
    return library


_library = None


def load():
    """Loads the library, if it is not loaded yet."""
    global _library
    if _library is None:
        _library = _load()


def call(name, *arguments):
    """Calls a function that can fail; raises GroupopsError if it does."""
    error = Error()
    status = getattr(_library, "gops_" + name)(*arguments, byref(error))
    if status != OK:
        raise GroupopsError(status, error.message.decode())


def execute(plan, arguments):
    """Executes a plan with `arguments`, of ARGUMENTS; only a refusal is asked for its words."""
    if _library.gops_execute(plan, arguments, None) != OK:
        call("execute", plan, arguments)


def release(name, *arguments):
    """Calls a function that releases something, which cannot fail."""
    getattr(_library, "gops_" + name)(*arguments)


def tensor(number, dims):
    return Tensor(number, len(dims), (c_int64 * MAX_RANK)(*dims))


def numbers(values):
    return List(len(values), (c_int64 * MAX_SPATIAL)(*values))
