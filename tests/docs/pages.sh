#!/usr/bin/env bash
# pages.sh FOLDER EXPORTED MANUAL.1... HEADER.h...: groff formats every page in FOLDER, and each MANUAL, without
# a warning; each HEADER has one, and no other has; each name in EXPORTED leads to one.
set -uo pipefail
folder=$1 exported=$2 manuals=() headers=()
for file in "${@:3}"; do
    [[ $file == *.h ]] && headers+=("$file") || manuals+=("$file")
done
wrong=0
say() {
    echo "$*"
    wrong=1
}
if ! command -v groff >/dev/null; then
    echo "skipped, because there is no groff"
    exit 77
fi
shopt -s nullglob
count=0
for page in "$folder"/groupops-*.1 "$folder"/man3/groupops_*.3 "${manuals[@]}"; do
    text=$(groff -mandoc -Tascii -P-cbou -ww -rLL=80n "$page" 2>&1)
    [[ $text != *"warning: "* && $text != *"error: "* ]] || say "$text"
    for section in NAME SYNOPSIS "SEE ALSO"; do
        [[ $text == *$'\n'"$section"$'\n'* ]] || say "$page has no $section"
    done
    count=$((count + 1))
done
for header in "${headers[@]}"; do
    page=$(<"$folder/man3/groupops_${header##*/}.3") || say "$header has no page"
    [[ $page == *$'\n.SH EXAMPLE\n'* ]] || say "the page of $header has no example"
    # A declaration that the script did not understand would be missing.
    while read -r name; do
        [[ $page == *"$name"* ]] || say "the page of $header does not have $name"
    done < <(grep -oE '^#define GOPS_[A-Z0-9_]*[A-Z0-9]\b|^} gops_[a-z0-9_]*|GOPS_[A-Z0-9_]* =' "$header" |
        grep -oE '(GOPS|gops)_[A-Za-z0-9_]*[A-Za-z0-9]')
done
while read -r name; do
    read -r _ page <"$folder/man3/$name.3" || say "there is no page for $name"
    [[ $(<"$folder/$page") == *"$name("* ]] || say "the page of $name leads to $page"
done < <(grep -oE '^gops_[a-z0-9_]+' "$exported")
pages=("$folder"/man3/groupops_*.3)
((${#pages[@]} == ${#headers[@]})) || say "${#pages[@]} pages for ${#headers[@]} headers"
echo "$count pages"
((count > 15)) || say "there were more once"
exit "$wrong"
