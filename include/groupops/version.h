/*
 * groupops/version.h: the version of the library. The build reads it from here.
 *
 * Major: a binary built against the old library must be built again (the soname changes).
 * Minor: something was added; old binaries go on working. Patch: neither.
 */
#ifndef GROUPOPS_VERSION_H
#define GROUPOPS_VERSION_H

#include <groupops/export.h>

#define GOPS_VERSION_MAJOR 0
#define GOPS_VERSION_MINOR 1
#define GOPS_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library that is running, as "major.minor.patch"; a constant string. It can
 * differ from the macros above, which are those of the header the caller was built with. */
GOPS_API const char *gops_version(void);

#ifdef __cplusplus
}
#endif

#endif
