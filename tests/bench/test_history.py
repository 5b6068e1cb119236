"""test_history.py: the history of speed on made-up figures: lines, steps back, the picture."""

import csv
import datetime
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
HEADER = "layer,network,kind,op,shapes,gflop,threads,contestant,ms_min,ms_median,error,note"


def peers(path, times):
    """times: {layer: (kind, {contestant: ms})}"""
    lines = [HEADER]
    for layer, (kind, by) in times.items():
        lines += [f"{layer},net,{kind},conv,1x2x3,0.1,1,{name},{ms},{ms},0," for name, ms in by.items()]
    path.write_text("\n".join(lines) + "\n")


def run(folder, *words):
    return subprocess.run([sys.executable, "-B", HERE / "history.py", "--processor=P & Q",
                           f"--history={folder}/history.csv", *words],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def rows_of(folder):
    with open(folder / "history.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def texts_of(folder):
    """Those of the picture, and how many points it has."""
    svg = xml.etree.ElementTree.parse(folder / "history.svg").getroot()
    return ([text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")],
            len(list(svg.iter("{http://www.w3.org/2000/svg}circle"))))


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        peers(folder / "a.csv", {
            "first": ("grouped", {"groupops": 2, "onednn": 4, "pytorch": 3}),
            "second": ("norm", {"groupops": 1, "pytorch": 2.5}),
            "alone": ("norm", {"groupops": 1}),
        })
        peers(folder / "b.csv", {
            "first": ("grouped", {"groupops": 2, "onednn": 2.5, "pytorch": 3}),
            "second": ("norm", {"groupops": 1, "pytorch": 2.3}),
        })
        assert run(folder).returncode != 0, "there is nothing to draw yet"
        peers(folder / "ours.csv", {"alone": ("norm", {"groupops": 1})})
        nothing = run(folder, folder / "ours.csv", "--commit=zzz")
        assert nothing.returncode != 0 and nothing.stderr.startswith("nothing to compare"), nothing
        assert nothing.stderr.count("\n") == 1 and not (folder / "history.csv").exists(), nothing
        one = run(folder, folder / "a.csv", "--date=2026-01-02", "--commit=aaa")
        assert one.returncode == 0 and "stepped back" not in one.stdout, one
        two = run(folder, folder / "b.csv", "--date=2026-01-03", "--commit=bbb")
        assert "2 layers; 1 stepped back since 2026-01-02, aaa\n" in two.stdout, two
        # 3 / 2 was the fastest peer's, then 2.5 / 2; 2.5 to 2.3 is no step.
        assert "| first 1x2x3 | 1 | 1.50 | 1.25 |\n" in two.stdout, two.stdout
        assert "| second" not in two.stdout, two.stdout
        rows = rows_of(folder)
        assert [(row["commit"], row["layer"]) for row in rows] == [
            ("aaa", "first"), ("aaa", "second"), ("bbb", "first"), ("bbb", "second")], rows
        first = rows[0]
        assert (first["date"], first["processor"], first["ms"]) == ("2026-01-02", "P & Q", "2.00000"), first
        assert (first["onednn"], first["onnxruntime"], first["pytorch"]) == ("2.000", "", "1.500"), first
        # On another processor nothing is compared, and the picture is of that one.
        other = run(folder, folder / "b.csv", "--processor=R", "--commit=ccc")
        assert other.returncode == 0 and "stepped back" not in other.stdout, other
        datetime.datetime.strptime(rows_of(folder)[-1]["date"], "%Y-%m-%d %H:%M")
        assert run(folder).returncode == 0
        names, points = texts_of(folder)
        assert "grouped 1.25" in names and "group norm 2.30" in names, names
        assert "aaa" in names and "bbb" in names and "ccc" not in names, names
        assert points == 4
        # A run without normalizations, on the day and of the commit of the one before.
        peers(folder / "c.csv", {"first": ("grouped", {"groupops": 2, "onednn": 2, "pytorch": 3})})
        partly = run(folder, folder / "c.csv", "--date=2026-01-03 12:34", "--commit=bbb")
        assert "1 layers; 1 stepped back since 2026-01-03, bbb\n" in partly.stdout, partly
        names, _ = texts_of(folder)
        assert "grouped 1.00" in names and "group norm 2.30" in names and "2026-01-03 12:34" not in names, names


main()
