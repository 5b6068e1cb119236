"""documents.py markdown ROOT TOOL, or documents.py site SITE: links, anchors and code of all documents.

Of each Markdown file of the repository: every link within it leads to a file, and its anchor to a
heading there; every block of C that begins with an #include compiles; blocks of Python and shell parse;
the words of every line of code that runs groupops, and of groupops(1), are words that TOOL takes; ./cmake/dev has
the commands that are named; no line of prose is longer than 120 characters, no cell of a table longer than 200. Of
each page below SITE: every link and picture leads to a file in it, and every anchor to an id.
"""

import html.parser
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.parse

wrong = []


def say(text):
    wrong.append(text)


def slug(heading):
    """The anchor of a heading, as GitHub makes it."""
    kept = re.sub(r"[^a-z0-9 _-]", "", heading.strip().lower().replace("`", ""))
    return kept.replace(" ", "-")


def split(text):
    """The text without its code, and its blocks of code as (language, text)."""
    prose, blocks, block, language = [], [], None, ""
    for line in text.split("\n"):
        if line.startswith("```"):
            if block is None:
                block, language = [], line[3:].strip()
            else:
                blocks.append((language, "\n".join(block) + "\n"))
                block = None
        elif block is not None:
            block.append(line)
        elif line.startswith("    "):
            blocks.append(("", line[4:] + "\n"))
        else:
            prose.append(line)
    return "\n".join(prose), blocks


def joined(blocks):
    """The lines of all blocks, those that end in a backslash with the ones behind them."""
    text = "".join(block for language, block in blocks if language in ("", "sh"))
    return re.sub(r" *\\\n *", " ", text).split("\n")


def check_tool_line(where, line, tool):
    """Behind words that are read in order, the first one that is refused must be a last one of ours."""
    words = re.split(r" {2,}|[|>#&;]", line)[0].split()[1:]
    if not words or any("..." in word or "[" in word or "$" in word for word in words):
        return 0
    if words[0] in ("help", "--help", "--version", "complete"):
        return 0
    end = "--no-such-flag"
    done = subprocess.run([tool, *words, end], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 2 or not done.stderr.startswith(f"groupops: {end} is no flag of "):
        say(f"{where}: groupops {' '.join(words)}: {done.stderr.strip()}")
    return 1


def check_c(where, text, root):
    with tempfile.NamedTemporaryFile("w", suffix=".c") as file:
        file.write(text)
        file.flush()
        done = subprocess.run(
            [os.environ.get("CC", "cc"), "-std=c11", "-D_GNU_SOURCE", "-fsyntax-only", "-Wall", "-Werror",
             f"-I{root}/include", file.name], stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            say(f"{where}: a block of C: {done.stderr}")


def check_python(where, text):
    try:
        compile(text, str(where), "exec")
    except SyntaxError as error:
        say(f"{where}: a block of Python: {error}")


def check_shell(where, text):
    done = subprocess.run(["bash", "-n"], input=text, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        say(f"{where}: a block of shell: {done.stderr}")


def check_manual(path, tool):
    """The command lines of a page for man, between .nf and .fi, with its escapes undone."""
    text = path.read_text().replace("\\-", "-").replace("\\e\n", "\\\n")
    blocks = [("", re.sub(r"^    ", "", block, flags=re.M))
              for block in re.findall(r"^\.nf\n(    .*?)^\.fi", text, re.M | re.S)]
    lines = sum(check_tool_line(path.name, line, tool) for line in joined(blocks)
                if line.startswith("groupops "))
    if lines < 4:
        say(f"{path.name} had more command lines than {lines} once")
    return lines


def check_widths(where, prose):
    for line in prose.split("\n"):
        if line.startswith("|"):
            for cell in line.split("|"):
                if len(cell.strip()) > 200:
                    say(f"{where}: a cell of {len(cell.strip())} characters: {cell.strip()[:60]}...")
        elif len(line) > 120:
            say(f"{where}: a line of {len(line)} characters: {line[:60]}...")


def check_markdown(root, tool):
    commands = re.findall(r"^command_(\w+)\(\)", (root / "cmake/dev").read_text(), re.M)
    verbs = re.findall(r'"([a-z]+)": \(run_', (root / "tests/bench/run").read_text())
    # Below build/, other tests make and remove folders meanwhile.
    tops = [top for top in root.iterdir() if top.name not in ("build", ".git")]
    paths = sorted(path for top in tops for path in (top.rglob("*.md") if top.is_dir() else [top])
                   if path.suffix == ".md")
    prose, blocks, anchors = {}, {}, {}
    for path in paths:
        prose[path], blocks[path] = split(path.read_text())
        anchors[path] = {slug(line) for line in re.findall(r"^#+ +(.*)$", prose[path], re.M)}
    links = lines = programs = 0
    for path in paths:
        name = path.relative_to(root)
        check_widths(name, prose[path])
        for command, verb in re.findall(r"\./cmake/dev ([a-z]+)(?: ([a-z]+))?", path.read_text()):
            if command not in commands:
                say(f"{name}: ./cmake/dev has no {command}")
            if command == "bench" and verb and verb not in verbs:
                say(f"{name}: ./cmake/dev bench has no {verb}")
        # A link's text may go on in the next line.
        for link in re.findall(r"\]\(([^()\s]+)\)", prose[path]) + \
                re.findall(r"^\[[^]]+\]: +(\S+)$", prose[path], re.M):
            if re.match(r"[a-z]+:", link):
                continue
            links += 1
            target, _, anchor = link.partition("#")
            to = (path.parent / target).resolve() if target else path
            if not to.exists():
                say(f"{name}: there is no {link}")
            elif anchor and anchor not in anchors.get(to, ()):
                say(f"{name}: no heading of {link} is #{anchor}")
        for line in joined(blocks[path]):
            if line.startswith("groupops "):
                lines += check_tool_line(name, line, tool)
        for language, text in blocks[path]:
            if language == "python":
                check_python(name, text)
            if language == "sh":
                check_shell(name, text)
            # The pages of first steps are followed by tests of their own, which find ONNX Runtime.
            if language == "c" and text.startswith("#include") and "first_steps" not in name.parts:
                programs += 1
                check_c(name, text, root)
    lines += check_manual(root / "src/tool/groupops.1", tool)
    print(f"{len(paths)} documents, {links} links, {lines} command lines, {programs} programs")
    if links < 30 or lines < 8 or programs < 1:
        say("there was more once: is it still found?")


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids, self.links = set(), []

    def handle_starttag(self, tag, attributes):
        for key, value in attributes:
            if key in ("id", "name"):
                self.ids.add(value)
            if key in ("href", "src") or (tag == "object" and key == "data"):
                self.links.append(value)


def check_site(site):
    pages = {}
    for path in site.rglob("*.html"):
        pages[path] = Page()
        pages[path].feed(path.read_text())
    links = 0
    for path, page in pages.items():
        for link in page.links:
            target, _, anchor = urllib.parse.unquote(link).partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            links += 1
            to = (path.parent / target).resolve() if target else path
            if not to.exists() or site not in to.parents:
                say(f"{path.name}: there is no {link}")
            elif anchor and to in pages and anchor not in pages[to].ids:
                say(f"{path.name}: {link} leads to no id")
    print(f"{len(pages)} pages, {links} links")
    if len(pages) < 30:
        say("there were more pages once")
    for name in ("index.html", "plan_8h.html", "src_tool.html", "search/search.js", "peers.svg"):
        if not (site / name).exists():
            say(f"the site has no {name}")


def main():
    if sys.argv[1] == "markdown":
        check_markdown(pathlib.Path(sys.argv[2]).resolve(), sys.argv[3])
    else:
        check_site(pathlib.Path(sys.argv[2]).resolve())
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


main()
