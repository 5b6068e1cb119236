/* demo.h: groupops demo: a picture through all three operations and back. */
#ifndef GOPS_DEMO_H
#define GOPS_DEMO_H

#include "common/tool_error.h"

#include <stdbool.h>
#include <stdint.h>

/* Reads the PNG file, NULL: a zone plate, and writes the contact sheet to `output`, NULL:
 * groupops-demo.png. */
bool gops_demo_show(const char *path, const char *output, int32_t threads, gops_tool_error *error);

#endif
