"""PyTorch's convolutions and group normalizations by groupops, on and off by a context manager.

    import groupops_torch
    with groupops_torch.enabled():
        output = model(images)

Inside, `aten::convolution` (conv1d to conv3d, conv_transpose1d to 3d) and `aten::native_group_norm`
of CPU tensors run in libgroupops. PyTorch computes or refuses every other call as before. The
switch is for the whole process: while any `enabled()` is open, the calls of all threads are served.
Gradients are PyTorch's own: its backward formulas are not overridden.

No compiler is needed: ctypes loads the library from the path in GROUPOPS_LIBRARY, from this
package's folder, or by the system's loader.
"""

from groupops_torch.binding import GroupopsError, library_path
from groupops_torch.override import enabled, forget, fuse, statistics

__all__ = ["GroupopsError", "enabled", "forget", "fuse", "library_path", "statistics"]
