# man3.awk: a manual page (section 3) of a public header, from the header's own comments.
#
#     awk -v version=0.1.0 -v headers='plan.h tensor.h' -v links=FOLDER -v example=plan.c \
#         -f cmake/man3.awk include/groupops/plan.h include/groupops/plan.h >groupops_plan.h.3
#
# The file is named twice since it is read twice; `headers` are those to refer to; cmake/man3 calls it.
#
# The comment with @file becomes NAME and DESCRIPTION. What follows it is declarations, each with the
# comment above it; those that follow each other without an empty line share one. Members of structs
# and enums have theirs above or behind (/**< */). In comments an indent of four is code, "- " a list.
# With links=FOLDER a page of one line is written there for each function, which leads to this one.

function roff(text)
{
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    if (text ~ /^[.']/)
        text = "\\&" text
    return text
}

# A comment without its marks: one line of text a line, indents below " * " kept.
function bare(text)
{
    sub(/^[ \t]*\/\*\*<? ?/, "", text)
    sub(/ *\*\/[ \t]*$/, "", text)
    sub(/^[ \t]*\* ?/, "", text)
    return text
}

function paragraphs(text,    lines, count, i, code, list)
{
    count = split(text, lines, "\n")
    for (i = 1; i <= count; i++) {
        if (lines[i] ~ /^    / && !list) {
            if (!code)
                print ".PP\n.RS 4\n.nf"
            code = 1
            print roff(substr(lines[i], 5))
            continue
        }
        if (code && lines[i] ~ /^ *$/ && lines[i + 1] ~ /^    /) {
            print ""
            continue
        }
        if (code)
            print ".fi\n.RE\n.PP"
        code = 0
        if (lines[i] ~ /^ *$/) {
            if (i < count)
                print ".PP"
            list = 0
        } else if (lines[i] ~ /^ *- /) {
            print ".IP \\(bu 2"
            sub(/^ *- /, "", lines[i])
            print roff(lines[i])
            list = 1
        } else {
            if (list && lines[i] !~ /^ /) {
                print ".PP"
                list = 0
            }
            sub(/^ +/, "", lines[i])
            print roff(lines[i])
        }
    }
    if (code)
        print ".fi\n.RE"
}

# A declaration on one line, broken behind commas, or behind its first parenthesis, where it is longer than
# a page is wide.
function wrapped(text,    out, piece, at)
{
    gsub(/[ \t\n]+/, " ", text)
    sub(/^ /, "", text)
    sub(/^GOPS_API /, "", text)
    while (length(text) > 72) {
        piece = substr(text, 1, 72)
        at = 0
        while (match(piece, /, /)) {
            at += RSTART
            piece = substr(piece, RSTART + 1)
        }
        if (!at)
            at = out == "" ? index(substr(text, 1, 72), "(") : 0
        if (!at)
            at = index(text, ", ")
        if (!at)
            break
        out = out substr(text, 1, at) "\n"
        text = substr(text, at + 1)
        sub(/^ */, "        ", text)
    }
    return out text
}

function bold(text)
{
    text = roff(text)
    gsub(/\n/, "\\fR\n\\fB", text)
    return "\\fB" text "\\fR"
}

# The members of a struct or an enum. `note` is the comment above a member, or behind it.
function members(text,    lines, count, i, line, note, code, open, behind)
{
    count = split(text, lines, "\n")
    print ".nf\n" bold(lines[1]) "\n.fi\n.RS 4"
    for (i = 2; i < count; i++) {
        line = lines[i]
        if (!open && line ~ /[^ ].*\/\*\*</) {
            code = code " " substr(line, 1, index(line, "/**<") - 1)
            line = substr(line, index(line, "/**<"))
            behind = 1
        }
        if (open || line ~ /^ *\/\*\*/) {
            note = note (note == "" ? "" : "\n") bare(line)
            open = line !~ /\*\//
            if (open || !behind)
                continue
        } else {
            code = code " " line
            if (line !~ /[;,]$/ && i < count - 1)
                continue
        }
        member(code, note)
        code = note = ""
        behind = 0
    }
    print ".RE\n.nf\n" bold(lines[count]) "\n.fi"
}

function member(code, note)
{
    print ".br\n.nf\n" bold(wrapped(code)) "\n.fi"
    if (note != "") {
        print ".RS 4"
        paragraphs(note)
        print ".RE"
    }
}

# Prints what was declared since the last empty line.
function flush(    i)
{
    if (!declared) {
        return
    }
    if (!shown++)
        print ".SH DECLARATIONS"
    print ".SS " roff(names)
    for (i = 1; i <= declared; i++) {
        if (declarations[i] ~ /\{/)
            members(declarations[i])
        else
            print ".nf\n" bold(wrapped(declarations[i])) "\n.fi"
    }
    if (doc != "") {
        print ".RS 4"
        paragraphs(doc)
        print ".RE"
    }
    declared = 0
    names = doc = ""
}

function name_of(text,    name)
{
    name = text
    gsub(/\n/, " ", name)
    if (name ~ /^#define/) {
        sub(/^#define /, "", name)
        sub(/[ (].*/, "", name)
    } else if (name ~ /\{/) {
        sub(/;$/, "", name)
        sub(/.*\} */, "", name)
    } else if (name ~ /\(/) {
        sub(/\(.*/, "", name)
        sub(/.*[ *]/, "", name)
    } else {
        sub(/;$/, "", name)
        sub(/.*[ *]/, "", name)
    }
    return name
}

# Of what is written twice, for C and C++ or for two compilers, the first counts.
function declare(text,    name)
{
    name = name_of(text)
    if (name in seen)
        return
    seen[name] = 1
    declarations[++declared] = text
    names = names (names == "" ? "" : ", ") name
}

FNR == 1 {
    header = FILENAME
    sub(/.*include\//, "", header)
    page = header
    sub(/\//, "_", page)
}

# First all functions are found, for NAME; the second reading prints.
NR == FNR {
    if ($0 ~ /^GOPS_API .*gops_[a-z0-9_]+\(/) {
        name = name_of($0)
        functions = functions ", " roff(name)
        if (links != "")
            printf ".so man3/%s.3\n", page >(links "/" name ".3")
    }
    next
}

skipped {
    if ($0 ~ /^#(else|endif)/)
        skipped = 0
    next
}
/^#ifdef __cplusplus/ {
    skipped = 1
    next
}

in_doc || /^\/\*\*/ {
    if (!in_doc)
        flush()
    if ($0 !~ /^\/\*\*$/ && $0 !~ /^ \* @file/)
        doc = doc (doc == "" ? "" : "\n") bare($0)
    in_doc = $0 !~ /\*\//
    if (!in_doc && !begun) {
        begun = 1
        sub(/\n$/, "", doc)
        summary = doc
        sub(/^[^:]*: */, "", summary)
        rest = ""
        if (match(summary, /\.(\n| |$)/)) {
            rest = substr(summary, RSTART + 1)
            summary = substr(summary, 1, RSTART - 1)
        }
        gsub(/\n/, " ", summary)
        sub(/^ ?\n*/, "", rest)
        printf ".\\\" By cmake/man3.awk, of %s.\n", header
        printf ".TH %s 3 \"\" \"groupops %s\" \"groupops manual\"\n.ad l\n.nh\n", toupper(page), version
        printf ".SH NAME\n%s%s \\- %s\n", page, functions, roff(summary)
        printf ".SH SYNOPSIS\n.nf\n\\fB#include <%s>\\fR\n\n", header
        mpi = page ~ /mpi/
        printf "%s engine.c $(pkg\\-config \\-\\-cflags \\-\\-libs groupops)%s\n.fi\n", mpi ? "mpicc" : "cc",
            mpi ? " \\-lgroupops_mpi" : ""
        if (rest != "") {
            print ".SH DESCRIPTION"
            paragraphs(rest)
        }
        doc = ""
    }
    next
}

depth {
    text = text "\n" $0
    if ($0 ~ /^\}/ || (depth == 1 && $0 ~ /;$/)) {
        depth = 0
        declare(text)
    }
    next
}
/^#define/ && !/_H$/ && !/_ / {
    text = $0
    while (sub(/ *\\$/, "", text)) {
        getline
        sub(/^ */, " ")
        text = text $0
    }
    if (name_of(text) !~ /_$/)
        declare(text)
    next
}
/^(typedef|GOPS_API)/ {
    text = $0
    if ($0 ~ /;$/)
        declare(text)
    else
        depth = $0 ~ /\{$/ ? 2 : 1
    next
}
/^$/ {
    flush()
}

END {
    flush()
    for (count = 0; (getline line <example) > 0; count++) {
        if (count == 0)
            print ".SH EXAMPLE\n.nf"
        print roff(line)
    }
    print (count ? ".fi\n" : "") ".SH SEE ALSO"
    printf ".BR groupops (1)"
    count = split(headers, all, " ")
    for (i = 1; i <= count; i++) {
        if (page != "groupops_" all[i])
            printf ",\n.BR groupops_%s (3)", all[i]
    }
    printf "\n"
}
