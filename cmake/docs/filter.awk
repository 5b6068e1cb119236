# filter.awk: what Doxygen reads in place of a document or a header.
#
# Of a Markdown file the title and the headings get labels, and links to other documents, their headings
# and headers become Doxygen's; a link to what has no page there keeps its text alone. GROUPOPS_ROOT is
# the repository's folder, GROUPOPS_PAGES the documents from there. A header gets its example at the end
# of its first comment.

# tests/bench/README.md: tests_bench; first_steps/c.md: first_steps_c
function page_of(path)
{
    if (path == "README.md")
        return "index"
    sub(/^\.github\//, "", path)
    sub(/\/README\.md$/, "", path)
    sub(/\.md$/, "", path)
    gsub(/[^A-Za-z0-9]/, "_", path)
    return tolower(path)
}

# The name of a heading in links, as GitHub makes it.
function slug(heading)
{
    heading = tolower(heading)
    gsub(/`/, "", heading)
    gsub(/[^a-z0-9 _-]/, "", heading)
    gsub(/ /, "-", heading)
    return heading
}

# The path that a link leads to, from the repository's folder.
function resolved(link,    parts, count, i, out, depth)
{
    count = split(folder link, parts, "/")
    depth = 0
    for (i = 1; i <= count; i++) {
        if (parts[i] == "..")
            depth--
        else if (parts[i] != "." && parts[i] != "")
            out[++depth] = parts[i]
    }
    link = ""
    for (i = 1; i <= depth; i++)
        link = link (i > 1 ? "/" : "") out[i]
    return link
}

# What stands in place of [text](link).
function reference(text, link,    anchor, path)
{
    if (link ~ /^[a-z]+:/)
        return "[" text "](" link ")"
    anchor = ""
    if (index(link, "#")) {
        anchor = substr(link, index(link, "#") + 1)
        link = substr(link, 1, index(link, "#") - 1)
    }
    path = link == "" ? here : resolved(link)
    if (path in pages)
        return "[" text "](@ref " page_of(path) (anchor == "" ? "" : "-" anchor) ")"
    if (path ~ /(^|\/)include\/groupops\/.*\.h$/) {
        sub(/^(.*\/)?include\//, "", path)
        return "[" text "](@ref " path ")"
    }
    return text
}

function with_links(line,    out, text, link, image)
{
    out = ""
    while (match(line, /!?\[[^]]*\]\([^()]*\)/)) {
        text = substr(line, RSTART, RLENGTH)
        out = out substr(line, 1, RSTART - 1)
        line = substr(line, RSTART + RLENGTH)
        image = text ~ /^!/
        link = substr(text, index(text, "](") + 2)
        sub(/\)$/, "", link)
        sub(/^!?\[/, "", text)
        text = substr(text, 1, index(text, "](") - 1)
        if (image)
            sub(/.*\//, "", link)
        out = out (image ? "![" text "](" link ")" : reference(text, link))
    }
    return out line
}

# Doxygen shows the backslash of \| within a code span of a table.
function with_bars(line,    out, code)
{
    out = ""
    while (match(line, /`[^`]*`/)) {
        code = substr(line, RSTART, RLENGTH)
        out = out substr(line, 1, RSTART - 1)
        line = substr(line, RSTART + RLENGTH)
        if (code ~ /\\\|/) {
            gsub(/`/, "", code)
            gsub(/</, "\\&lt;", code)
            code = "<kbd>" code "</kbd>"
        }
        out = out code
    }
    return out line
}

# Doxygen knows a function in prose by its parentheses.
function with_calls(line,    out, name)
{
    out = ""
    while (match(line, /gops_[a-z0-9_]+/)) {
        name = substr(line, RSTART, RLENGTH)
        out = out substr(line, 1, RSTART + RLENGTH - 1)
        line = substr(line, RSTART + RLENGTH)
        if ((name in functions) && line !~ /^[(`*]/)
            out = out "()"
    }
    return out line
}

BEGIN {
    root = ENVIRON["GROUPOPS_ROOT"]
    count = split(ENVIRON["GROUPOPS_PAGES"], all, " ")
    for (i = 1; i <= count; i++)
        pages[all[i]] = 1
    while ((getline name < (root "/tests/symbols/exported.txt")) > 0)
        functions[name] = 1
}

FNR == 1 {
    here = FILENAME
    if (index(here, root "/") == 1)
        here = substr(here, length(root) + 2)
    folder = here
    if (!sub(/\/[^\/]*$/, "/", folder))
        folder = ""
    header = here ~ /\.h$/
    name = here
    sub(/.*\//, "", name)
}

header {
    if (!begun && /^ \*\/$/) {
        begun = 1
        example = name
        sub(/h$/, "c", example)
        if ((getline line < (root "/tests/examples/headers/" example)) > 0)
            print " *\n * @par An example\n * @include headers/" example
    }
    in_comment = in_comment || /\/\*\*/
    print in_comment && !/^ \*     / ? with_calls($0) : $0
    if (/\*\//)
        in_comment = 0
    next
}

/^```/ {
    fenced = !fenced
}
fenced || /^    / {
    print
    next
}
/^#+ / {
    level = $1
    text = $0
    sub(/^#+ +/, "", text)
    if (level == "#") {
        gsub(/`/, "")
        print $0 " {#" (here == "README.md" ? "mainpage" : page_of(here)) "}"
    } else
        print $0 " {#" page_of(here) "-" slug(text) "}"
    next
}
{
    print with_links(/^\|/ ? with_bars($0) : $0)
}
