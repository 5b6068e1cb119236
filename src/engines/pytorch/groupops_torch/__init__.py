"""PyTorch's convolutions and group normalizations by groupops, on and off by a context manager.

    import groupops_torch
    with groupops_torch.enabled():
        output = model(images)

Inside, `aten::convolution` (conv1d to conv3d, conv_transpose1d to 3d) and `aten::native_group_norm`
of CPU tensors run in libgroupops; whatever it does not plainly serve is PyTorch's, which answers or
refuses it as it did before. The switch is the process's: while any `enabled()` is open, all threads' calls are served. Gradients are PyTorch's
own: its backward formulas are not overridden.

Needs no compiler: the library is loaded by ctypes, from the path in GROUPOPS_LIBRARY, or beside
this package, or by the system's loader.
"""

from groupops_torch.binding import GroupopsError, library_path
from groupops_torch.override import enabled, forget, statistics

__all__ = ["GroupopsError", "enabled", "forget", "library_path", "statistics"]
