import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout


class GroupopsTestConan(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = ("CMakeDeps",)

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        shared = self.dependencies["groupops"].options.shared
        toolchain.cache_variables["LIBRARY"] = "groupops" if shared else "groupops_static"
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            self.run(os.path.join(self.cpp.build.bindir, "example"), env="conanrun")
