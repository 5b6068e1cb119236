# Uses the installed packages, in the system that ./chroot made.
set -eu
mkdir /tmp/used
cd /tmp/used
cp /srv/readme_example.c .

echo "== the README's example by CMake"
cat >CMakeLists.txt <<'LISTS'
cmake_minimum_required(VERSION 3.25)
project(engine LANGUAGES C)
find_package(groupops 0.1 REQUIRED)
foreach(library groupops groupops_static)
  add_executable(by_${library} readme_example.c)
  target_link_libraries(by_${library} PRIVATE groupops::${library})
endforeach()
LISTS
cmake -S . -B build >log || { cat log; exit 1; }
cmake --build build >log || { cat log; exit 1; }
build/by_groupops
build/by_groupops_static

echo "== the README's example by pkg-config"
for package in groupops groupops-static; do
    gcc readme_example.c -o "by_$package" $(pkg-config --cflags --libs "$package")
    "./by_$package"
done

echo "== the command"
groupops info
groupops plan conv --data=1,128,56,56 --filter=32,4,4,3,3 --pads-begin=1,1 --pads-end=1,1
groupops bench --suite=smoke --threads=1
test -e /usr/share/man/man1/groupops.1.gz

echo "== what the libraries need"
ldd /usr/lib/*/libgroupops*.so >libraries
cat libraries
if grep "not found" libraries; then
    exit 1
fi

if [ -e /usr/lib/python3/dist-packages/groupops_torch ]; then
    echo "== PyTorch"
    python3 - <<'PYTHON'
import torch
import groupops_torch

torch.manual_seed(1)
layer = torch.nn.Conv2d(6, 9, (3, 5), groups=3, padding=1)
image = torch.randn(2, 6, 11, 13)
with torch.no_grad():
    expected = layer(image)
    with groupops_torch.enabled():
        output = layer(image)
print(groupops_torch.library_path(), groupops_torch.statistics())
assert torch.allclose(output, expected, atol=1e-5)
PYTHON
fi
cd /
rm -r /tmp/used
