"""test_run.py: of a run that fails, older results stay, and what it had measured is kept beside them; one with
wrong results is whole, and fails behind its reports. What cannot be installed is told, and why a table
ends early. Options that a benchmark does not read are refused."""

import argparse
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def measured(bench, path, text, failing):
    """What `bench` makes of a program that prints the text; whether it failed."""
    program = f"print({text!r}, end=''); raise SystemExit({int(failing)})"
    try:
        with bench.results(path) as output:
            bench.command(sys.executable, "-c", program, stdout=output)
    except bench.subprocess.CalledProcessError:
        return True
    return False


def peers(bench, path, status):
    """What the reports are made of where `peers` ends with the status, and how the run ends."""
    seen, end = None, None
    try:
        with bench.measured(path, sys.executable, "-c", f"print('rows'); raise SystemExit({status})"):
            seen = path.read_text()
    except (SystemExit, bench.subprocess.CalledProcessError) as error:
        end = type(error)
    return seen, end


def said_of_missing(bench, folder):
    """What is printed of a package that cannot be installed, with the programs in the folder alone."""
    os.environ["PATH"] = folder
    bench.DEBIAN["nobody"] = ("libnobody-dev", f"{folder}/nobody.h")
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        bench.bring(argparse.Namespace(install=True), "nobody")
    return said.getvalue()


def table(bench, status):
    """What is printed of a program that prints a table and other words."""
    program = f"print('one\\n| row |\\ntwo'); raise SystemExit({status})"
    shown, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(said):
        try:
            bench.print_table(sys.executable, "-c", program)
        except bench.subprocess.CalledProcessError as error:
            assert error.returncode == status
    return shown.getvalue(), said.getvalue()


def check_refused(bench, words, why):
    """Before anything is built."""
    bench.build = None
    sys.argv = ["run", *words.split()]
    said, status = io.StringIO(), None
    with contextlib.redirect_stderr(said):
        try:
            bench.main()
        except SystemExit as end:
            status = end.code
    assert (status, said.getvalue()) == (2, f"tests/bench/run: {why}\n"), (words, said.getvalue())


def main():
    loader = importlib.machinery.SourceFileLoader("bench", str(HERE / "run"))
    bench = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench", loader))
    loader.exec_module(bench)
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "peers.csv"
        part = pathlib.Path(name) / "peers.csv.part"
        assert not measured(bench, path, "old", failing=False)
        assert path.read_text() == "old" and not part.exists()
        assert measured(bench, path, "", failing=True)
        assert path.read_text() == "old" and not part.exists()
        assert measured(bench, path, "half", failing=True)
        assert path.read_text() == "old" and part.read_text() == "half"
        assert not measured(bench, path, "new", failing=False)
        assert path.read_text() == "new" and not part.exists()
        assert peers(bench, path, 0) == ("rows\n", None)
        assert peers(bench, path, bench.WRONG) == ("rows\n", SystemExit)
        assert peers(bench, path, 1) == (None, bench.subprocess.CalledProcessError)
        assert table(bench, 0) == ("| row |\n", "")
        assert table(bench, 77) == ("| row |\n", "one\ntwo\n")
        check_refused(bench, "--install --build=B types --threads=1", "types does not read --threads")
        check_refused(bench, "--seconds=1", "peers does not read --seconds")
        check_refused(bench, "overhead --realtime", "overhead does not read --realtime")
        check_refused(bench, "history --only=copy", "history does not read --only")
        check_refused(bench, "ranks --turn-ms=10", "ranks does not read --turn-ms")
        check_refused(bench, "speedup --threads=1", "speedup compares one thread with more, as in --threads=2")
        absent = "absent: nobody (Debian package libnobody-dev)\n"
        assert said_of_missing(bench, name).endswith(absent)
        for program in ("sudo", "apt-get"):  # they fail
            os.symlink("/bin/false", f"{name}/{program}")
        assert said_of_missing(bench, name) == absent


main()
