"""Conan 2: conan create GROUPOPS/cmake/ports/conan"""

import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rm, rmdir


class GroupopsConan(ConanFile):
    name = "groupops"
    description = "Grouped convolution, its transposed form and group normalization on a BLAS"
    license = "MIT"
    topics = ("convolution", "normalization", "inference", "openvino")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "tool": [True, False]}
    default_options = {"shared": True, "tool": False}

    def _root(self):
        return os.path.normpath(os.path.join(self.recipe_folder, "..", "..", ".."))

    def set_version(self):
        header = load(self, os.path.join(self._root(), "include", "groupops", "version.h"))
        self.version = ".".join(re.findall(r"#define GOPS_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "*.md", "cmake/*", "include/*", "src/*", "tests/examples/*"):
            copy(self, pattern, src=self._root(), dst=self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def validate(self):
        if self.options.tool and not self.options.shared:
            raise ConanInvalidConfiguration("tool=True needs shared=True: the command is linked with libgroupops.so")

    def requirements(self):
        self.requires("openblas/[>=0.3.21 <0.4]")
        if self.options.tool:
            self.requires("libpng/[>=1.6 <2]")
            self.requires("libxml2/[>=2.9 <3]")

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["GROUPOPS_BLAS"] = "openblas"
        toolchain.cache_variables["GROUPOPS_TOOL"] = bool(self.options.tool)
        toolchain.cache_variables["GROUPOPS_ORT"] = False
        toolchain.cache_variables["GROUPOPS_MPI"] = False
        toolchain.cache_variables["GROUPOPS_TESTS"] = False
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        libraries = os.path.join(self.package_folder, "lib")
        rm(self, "libgroupops.a" if self.options.shared else "libgroupops.so*", libraries)
        for folder in ("cmake", "pkgconfig"):
            rmdir(self, os.path.join(libraries, folder))
        for folder in ("doc", "man"):
            rmdir(self, os.path.join(self.package_folder, "share", folder))

    def package_info(self):
        self.cpp_info.libs = ["groupops"]
        self.cpp_info.set_property("cmake_file_name", "groupops")
        target = "groupops::groupops" if self.options.shared else "groupops::groupops_static"
        self.cpp_info.set_property("cmake_target_name", target)
        if not self.options.shared:
            self.cpp_info.system_libs = ["m"]
            self.cpp_info.exelinkflags = self.cpp_info.sharedlinkflags = ["-fopenmp"]
