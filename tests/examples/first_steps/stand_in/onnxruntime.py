"""In place of ONNX Runtime's Python package, which no registry brings here: the names that a page of
first steps uses, each calling what the package calls in the real runtime, GROUPOPS_ONNXRUNTIME."""

import ctypes
import os
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_void_p, cast

import numpy

# The slots of src/engines/onnxruntime/runtime/ort_abi.h.
_SLOTS = {
    "get_error_message": 2, "create_env": 3, "create_session": 7, "run": 9, "create_session_options": 10,
    "create_tensor": 49, "get_tensor_data": 51, "get_rank": 61, "get_dims": 62, "get_tensor_info": 65,
    "create_cpu_memory_info": 69, "add_session_config": 130, "register_provider_library": 301,
    "get_ep_devices": 303, "append_provider": 304, "get_ep_name": 312,
}
_FLOAT = 1


class _Base(ctypes.Structure):
    _fields_ = [("get_api", ctypes.CFUNCTYPE(c_void_p, ctypes.c_uint32)), ("get_version", c_void_p)]


_library = ctypes.CDLL(os.environ["GROUPOPS_ONNXRUNTIME"])
_library.OrtGetApiBase.restype = POINTER(_Base)
_table = cast(_library.OrtGetApiBase().contents.get_api(23), POINTER(c_void_p))


def _text(slot, argument):
    return ctypes.CFUNCTYPE(c_char_p, c_void_p)(_table[_SLOTS[slot]])(argument).decode()


def _call(slot, *arguments):
    status = ctypes.CFUNCTYPE(c_void_p)(_table[_SLOTS[slot]])(*arguments)
    if status:
        raise RuntimeError(_text("get_error_message", status))


def _made(slot, *arguments):
    made = c_void_p()
    _call(slot, *arguments, byref(made))
    return made


_env = _made("create_env", c_int(2), b"stand-in")


class OrtEpDevice:
    def __init__(self, address):
        self.address = address
        self.ep_name = _text("get_ep_name", address)


def register_execution_provider_library(name, path):
    _call("register_provider_library", _env, name.encode(), path.encode())


def get_ep_devices():
    devices = POINTER(c_void_p)()
    count = c_size_t()
    _call("get_ep_devices", _env, byref(devices), byref(count))
    return [OrtEpDevice(devices[i]) for i in range(count.value)]


class SessionOptions:
    def __init__(self):
        self.handle = _made("create_session_options")

    def add_provider_for_devices(self, devices, options):
        addresses = (c_void_p * len(devices))(*(device.address for device in devices))
        keys = (c_char_p * len(options))(*(key.encode() for key in options))
        values = (c_char_p * len(options))(*(value.encode() for value in options.values()))
        _call(
            "append_provider", self.handle, _env, addresses, c_size_t(len(devices)), keys, values, c_size_t(len(options))
        )

    def add_session_config_entry(self, key, value):
        _call("add_session_config", self.handle, key.encode(), value.encode())


class InferenceSession:
    def __init__(self, path, sess_options):
        self.handle = _made("create_session", _env, path.encode(), sess_options.handle)
        self.memory = _made("create_cpu_memory_info", c_int(0), c_int(0))

    def _tensor(self, array):
        dims = (c_int64 * array.ndim)(*array.shape)
        return _made("create_tensor", self.memory, array.ctypes.data_as(c_void_p), c_size_t(array.nbytes), dims,
                     c_size_t(array.ndim), c_int(_FLOAT))

    def run(self, outputs, feed):
        if outputs is not None:
            raise ValueError("the stand-in gives the output y")
        names = (c_char_p * len(feed))(*(name.encode() for name in feed))
        values = (c_void_p * len(feed))(*(self._tensor(array).value for array in feed.values()))
        made = (c_void_p * 1)()
        _call("run", self.handle, None, names, values, c_size_t(len(feed)), (c_char_p * 1)(b"y"), c_size_t(1), made)
        value = c_void_p(made[0])
        data, rank = _made("get_tensor_data", value), c_size_t()
        shape = _made("get_tensor_info", value)
        _call("get_rank", shape, byref(rank))
        dims = (c_int64 * rank.value)()
        _call("get_dims", shape, dims, rank)
        return [numpy.ctypeslib.as_array(cast(data, POINTER(ctypes.c_float)), tuple(dims)).copy()]
