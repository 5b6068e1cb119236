import os
import subprocess


def cmake_layout(recipe):
    recipe.source_folder = getattr(recipe, "export_sources_folder", recipe.recipe_folder)
    recipe.build_folder = os.path.join(recipe.base_folder, "build", recipe.settings.build_type)
    recipe.generators_folder = os.path.join(recipe.build_folder, "generators")


class CMakeToolchain:
    def __init__(self, recipe):
        self.recipe = recipe
        self.cache_variables = {}

    def generate(self):
        words = {True: "ON", False: "OFF"}
        self.recipe.preset = [f"-D{name}={words.get(value, value)}" for name, value in self.cache_variables.items()]


class CMakeDeps:
    """For each dependency that was made, a package of CMake's with its target."""

    def __init__(self, recipe):
        self.recipe = recipe

    def generate(self):
        os.makedirs(self.recipe.generators_folder, exist_ok=True)
        for made in getattr(self.recipe, "dependencies", {}).values():
            info = made.cpp_info
            target = info.properties["cmake_target_name"]
            libraries = " ".join([*info.libs, *info.system_libs])
            path = os.path.join(self.recipe.generators_folder, info.properties["cmake_file_name"] + "-config.cmake")
            with open(path, "w", encoding="utf-8") as file:
                file.write(
                    f"add_library({target} INTERFACE IMPORTED)\n"
                    f"target_include_directories({target} INTERFACE {made.package_folder}/include)\n"
                    f"target_link_directories({target} INTERFACE {made.package_folder}/lib)\n"
                    f"target_link_libraries({target} INTERFACE {libraries} {made.stand_in_libraries})\n"
                    f"target_link_options({target} INTERFACE {' '.join(info.exelinkflags)})\n"
                )


class CMake:
    def __init__(self, recipe):
        self.recipe = recipe

    def _run(self, *words):
        done = subprocess.run(["cmake", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stdout)

    def configure(self):
        self._run("-S", self.recipe.source_folder, "-B", self.recipe.build_folder, "-G", "Ninja",
                  f"-DCMAKE_BUILD_TYPE={self.recipe.settings.build_type}",
                  f"-DCMAKE_PREFIX_PATH={self.recipe.generators_folder}",
                  f"-DCMAKE_INSTALL_PREFIX={getattr(self.recipe, 'package_folder', '')}",
                  "-DCMAKE_INSTALL_LIBDIR=lib", *self.recipe.preset)

    def build(self):
        self._run("--build", self.recipe.build_folder)

    def install(self):
        self._run("--install", self.recipe.build_folder, "--prefix", self.recipe.package_folder)
