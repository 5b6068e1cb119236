/* demo.h: groupops demo: a picture through all three operations and back. */
#ifndef GOPS_DEMO_H
#define GOPS_DEMO_H

/* `argv[0]` is the first word after "demo". Returns the exit code: 0 done, 2 the words on the
 * command line are wrong, 1 anything else; 2 and 1 come with one line on standard error. */
int gops_tool_demo(int argc, char **argv);

#endif
