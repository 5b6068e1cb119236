"""Does with the recipe what `conan create` does: exports the sources, builds, packages, and builds and runs
test_package with the result, shared and static. The compiler takes the objects of a build that is there.

    conan_create.py RECIPE_FOLDER FOLDER VERSION BLAS_LIBRARY
"""

import importlib.util
import os
import shutil
import subprocess
import sys

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration


def recipe_of(folder, name):
    spec = importlib.util.spec_from_file_location(name, os.path.join(folder, "conanfile.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (found,) = [v for v in vars(module).values() if isinstance(v, type) and issubclass(v, ConanFile) and v != ConanFile]
    return found


SETTINGS = {"os": "Linux", "arch": "x86_64", "compiler": "gcc", "build_type": "Release"}
KNOWN = {"name", "description", "license", "topics", "package_type", "settings", "options", "default_options"}
FOLDER, VERSION, BLAS = sys.argv[2:5]
RECIPE_FOLDER = sys.argv[1]


def create(kind, shared):
    recipe = kind(RECIPE_FOLDER, SETTINGS, {"shared": shared})
    recipe.validate()
    recipe.set_version()
    assert recipe.version == VERSION, recipe.version
    recipe.base_folder = FOLDER
    recipe.export_sources_folder = os.path.join(FOLDER, "sources")
    recipe.package_folder = os.path.join(FOLDER, "shared" if shared else "static")
    recipe.export_sources()
    recipe.layout()
    recipe.requirements()
    recipe.generate()
    recipe.build()
    recipe.package()
    recipe.package_info()
    recipe.stand_in_libraries = "" if shared else BLAS  # the dependency's own, which Conan would add
    return recipe


def refuses_static_tool(kind):
    try:
        kind(RECIPE_FOLDER, SETTINGS, {"shared": False, "tool": True}).validate()
    except ConanInvalidConfiguration as error:
        return "tool" in str(error)
    return False


def test(made, shared):
    folder = os.path.join(RECIPE_FOLDER, "test_package")
    recipe = recipe_of(folder, "test_recipe")(folder, SETTINGS, {})
    recipe.tested_reference_str = f"{made.name}/{made.version}"
    recipe.base_folder = os.path.join(FOLDER, "test-" + os.path.basename(made.package_folder))
    recipe.requirements()
    recipe.dependencies = {made.name: made}
    recipe.layout()
    recipe.cpp = type("cpp", (), {"build": type("build", (), {"bindir": recipe.build_folder})})
    environment = {**os.environ, "LD_LIBRARY_PATH": os.path.join(made.package_folder, "lib")}
    recipe.run = lambda command, env: subprocess.run(command, env=environment, check=True)
    from conan.tools.cmake import CMakeDeps

    assert recipe.generators == ("CMakeDeps",)
    recipe.generate()
    CMakeDeps(recipe).generate()
    recipe.build()
    recipe.test()


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    kind = recipe_of(RECIPE_FOLDER, "recipe")
    fields = {name for name, value in vars(kind).items() if not name.startswith("_") and not callable(value)}
    assert fields <= KNOWN and kind.license == "MIT" and kind.default_options.keys() == kind.options.keys(), fields
    assert refuses_static_tool(kind)
    for shared in (True, False):
        made = create(kind, shared)
        there = sorted(os.listdir(os.path.join(made.package_folder, "lib")))
        expected = ["libgroupops.so", f"libgroupops.so.{VERSION.rpartition('.')[0]}", f"libgroupops.so.{VERSION}"]
        assert there == (expected if shared else ["libgroupops.a"]), there
        assert os.listdir(os.path.join(made.package_folder, "licenses")) == ["LICENSE"]
        assert all(name.split("/")[0] in ("openblas",) for name in made.required), made.required
        test(made, shared)


main()
