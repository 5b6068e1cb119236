# Bash completion of groupops: asks the command itself (src/tool/verbs/verb_complete.h).
_groupops() {
    local line=${COMP_LINE:0:COMP_POINT} words word value candidate path
    read -ra words <<<"$line"
    if [[ $line == *[[:space:]] ]]; then
        words+=("")
    fi
    word=${words[-1]}
    value=${word##*=}
    COMPREPLY=()
    while IFS=$'\t' read -r candidate _; do
        if [[ $candidate == :files ]]; then
            compopt -o filenames 2>/dev/null
            while read -r path; do
                COMPREPLY+=("$path")
            done < <(compgen -f -- "$value")
            continue
        fi
        if [[ $candidate == *= ]]; then
            compopt -o nospace 2>/dev/null
        fi
        # Readline takes what is behind "=" for a word of its own.
        if [[ $COMP_WORDBREAKS == *=* ]]; then
            candidate=${candidate#"${word%"$value"}"}
        fi
        COMPREPLY+=("$candidate")
    done < <("${words[0]}" complete "${words[@]:1}" 2>/dev/null)
}
complete -F _groupops groupops
