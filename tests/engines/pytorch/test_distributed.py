"""A batch and a volume over two processes of torch.distributed are what one process gives."""

import unittest

import support  # before all that imports torch

from groupops_torch import distributed

# Sums of some 200 products of numbers about 1, in f32.
TOLERANCE = 1e-5


class Distributed(unittest.TestCase):
    def test_equals_one_process(self):
        differences = distributed.run()
        self.assertEqual(tuple(differences.shape), (distributed.PROCESSES, 2))
        self.assertTrue(bool((differences <= TOLERANCE).all()), differences)


if __name__ == "__main__":
    import torch.distributed

    if not torch.distributed.is_available():
        print("skipped, because this PyTorch has no torch.distributed")
        raise SystemExit(support.SKIPPED)
    support.main()
