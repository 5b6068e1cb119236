"""schema.py TOOL FOLDER: what groupops prints as JSON is what the schemas in FOLDER describe, every field
of them is printed by some command, and an object with a field missing, added or of another type is not
taken."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("skipped, because there is no python3-jsonschema")
    sys.exit(77)

QUICK = "--reps=1 --seconds=0 --json"
COMMANDS = {
    "plan": [
        "plan conv --data=1,6,7,11 --filter=2,5,3,3,2 --json",
        "plan conv --data=0,6,11 --filter=2,5,3,3 --auto-pad=same_upper --json",
        "plan conv --data=1,6,7,11 --filter=2,5,3,3,2 --type=u8 --filter-type=i8 --output-type=u8 --json",
        "plan deconv --data=1,6,2,2,2,2,2,2 --filter=2,3,5,1,2,1,2,1,2 --json",
        "plan deconv --data=1,6,7 --filter=2,3,5,3 --output-shape=12 --strides=2 --json",
        "plan norm --data=2,6 --num-groups=3 --epsilon=1e-5 --json",
    ],
    "bench": [
        f"bench conv --data=1,6,7,11 --filter=2,5,3,3,2 {QUICK}",
        f"bench conv --data=1,6,7,11 --filter=2,5,3,3,2 --algorithm=gemm --bare-gemm {QUICK}",
        f"bench conv --data=1,6,7,11 --filter=2,5,3,3,2 --type=i32 --bare-gemm {QUICK}",
        f"bench deconv --data=1,6,7 --filter=2,3,5,3 --type=f16 {QUICK}",
        f"bench conv --data=1,6,7,11 --filter=2,5,3,3,2 --type=u8 --filter-type=i8 --output-type=f16 {QUICK}",
        f"bench norm --data=2,6,5,7 --num-groups=3 --epsilon=1e-5 {QUICK}",
        f"bench --suite=./types.txt {QUICK}",
    ],
}
SUITE = ("a/f32 conv f32 data=1,2,7 filter=1,1,2,3\n"
         "a/f16 conv f16 data=1,2,7 filter=1,1,2,3\n")


def taken(schema, value):
    return jsonschema.Draft7Validator(schema).is_valid(value)


def check(name, schema, tool):
    jsonschema.Draft7Validator.check_schema(schema)
    printed = set()
    for command in COMMANDS[name]:
        done = subprocess.run([tool, *command.split()], stdout=subprocess.PIPE, check=True, text=True)
        for line in done.stdout.splitlines():
            value = json.loads(line)
            jsonschema.validate(value, schema)
            printed |= set(value)
            assert not taken(schema, {**value, "added": 1}), "a field that is not described is taken"
            for key in value:
                assert not taken(schema, {**value, key: {}}), f"{key} may be an object"
            for key in schema["required"]:
                rest = {other: value[other] for other in value if other != key}
                assert not taken(schema, rest), f"{key} may be missing"
    assert printed == set(schema["properties"]), printed ^ set(schema["properties"])


def main():
    tool, folder = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        pathlib.Path("types.txt").write_text(SUITE)
        for name in COMMANDS:
            check(name, json.loads((folder / f"{name}.json").read_text()), tool)
        os.chdir("/")


main()
