/* verb_complete.h: what the shells complete a command line with. */
#ifndef GOPS_VERBS_VERB_COMPLETE_H
#define GOPS_VERBS_VERB_COMPLETE_H

/* `words` are those behind "groupops", the last one the one to complete, which may be empty. Prints
 * what it may become, one a line, with a tab and a description behind it; one that ends in '=' goes
 * on. The line ":files" stands for the paths that begin with what is behind the last '=', or with
 * the word if there is none. completion/ has the scripts that ask. */
void gops_verb_complete(int count, char *const *words);

#endif
