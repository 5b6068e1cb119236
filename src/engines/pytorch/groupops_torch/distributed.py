"""A batch and a volume over two processes by torch.distributed (gloo), the layers by groupops:

    python3 -m groupops_torch.distributed

Images of a batch are independent: each process computes its own, and all are gathered. A volume is
cut into slabs along z: before a convolution each process gets the rows of its neighbour that its windows
reach into, its halo. Both print how far they are from one process.
"""

import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import groupops_torch

PROCESSES = 2


def gathered(part, axis):
    """The parts of all processes, which may differ in size along the axis, as one tensor."""
    sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(PROCESSES)]
    dist.all_gather(sizes, torch.tensor([part.shape[axis]]))
    shapes = [list(part.shape) for _ in range(PROCESSES)]
    for shape, size in zip(shapes, sizes):
        shape[axis] = int(size)
    parts = [torch.empty(shape) for shape in shapes]
    for rank, whole in enumerate(parts):
        if rank == dist.get_rank():
            whole.copy_(part)
        dist.broadcast(whole, rank)
    return torch.cat(parts, axis)


def batch(model, images):
    """Each process computes its images."""
    own = images.tensor_split(PROCESSES)[dist.get_rank()]
    with groupops_torch.enabled(), torch.no_grad():
        return gathered(model(own), 0)


def with_halo(slab, rows):
    """The slab [N, C, z, y, x] between `rows` rows of each neighbour; zeros at the ends of the volume."""
    rank, requests = dist.get_rank(), []
    halos = [torch.zeros_like(slab[:, :, :rows]) for _ in range(2)]
    edges = [slab[:, :, :rows].contiguous(), slab[:, :, -rows:].contiguous()]
    for side, neighbour in enumerate((rank - 1, rank + 1)):
        if 0 <= neighbour < PROCESSES:
            requests += [dist.isend(edges[side], neighbour), dist.irecv(halos[side], neighbour)]
    for request in requests:
        request.wait()
    return torch.cat([halos[0], slab, halos[1]], 2)


def volume(layers, data):
    """Each process computes its slab, with one exchange a layer. The layers are 3 x 3 x 3, with stride 1, and
    padded by 1."""
    slab = data.tensor_split(PROCESSES, 2)[dist.get_rank()].contiguous()
    with groupops_torch.enabled(), torch.no_grad():
        for layer in layers:
            padded = with_halo(slab, 1)
            slab = torch.relu(
                torch.nn.functional.conv3d(padded, layer.weight, layer.bias, padding=(0, 1, 1)))
        return gathered(slab, 2)


def compare(rank, meeting, differences):
    """What each process runs: both ways, and one process besides."""
    torch.set_num_threads(1)
    torch.manual_seed(7)
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=PROCESSES)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.GroupNorm(2, 8),
                                torch.nn.ReLU(), torch.nn.Conv2d(8, 5, 3, stride=2))
    layers = [torch.nn.Conv3d(3, 8, 3, padding=1), torch.nn.Conv3d(8, 5, 3, padding=1)]
    images, data = torch.randn(5, 3, 17, 19), torch.randn(1, 3, 13, 11, 17)
    with torch.no_grad():
        alone = data
        for layer in layers:
            alone = torch.relu(layer(alone))
        differences[rank, 0] = (batch(model, images) - model(images)).abs().max()
        differences[rank, 1] = (volume(layers, data) - alone).abs().max()
    dist.destroy_process_group()


def run():
    """The largest differences from one process: [process, batch or volume]."""
    differences = torch.full((PROCESSES, 2), float("nan")).share_memory_()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(compare, (os.path.join(folder, "meeting"), differences), nprocs=PROCESSES)
    return differences


if __name__ == "__main__":
    largest = run().max(0).values
    print(f"batch over {PROCESSES} processes: {largest[0]:.1e} from one process")
    print(f"volume over {PROCESSES} processes: {largest[1]:.1e} from one process")
