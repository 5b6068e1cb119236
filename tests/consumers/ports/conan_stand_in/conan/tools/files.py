import fnmatch
import glob
import os
import shutil


def load(recipe, path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def copy(recipe, pattern, src, dst):
    """The files whose path below src matches, as in fnmatch: * goes into folders. Not through links."""
    for folder, folders, files in os.walk(src):
        here = os.path.relpath(folder, src)
        if here == ".":
            folders[:] = [name for name in folders if name not in (".git", "build")]
        for name in files:
            path = os.path.normpath(os.path.join(here, name))
            if fnmatch.fnmatchcase(path, pattern):
                to = os.path.join(dst, path)
                os.makedirs(os.path.dirname(to), exist_ok=True)
                shutil.copy2(os.path.join(src, path), to)


def rm(recipe, pattern, folder):
    for path in glob.glob(os.path.join(folder, pattern)):
        os.remove(path)


def rmdir(recipe, path):
    shutil.rmtree(path, ignore_errors=True)
