/**
 * @file
 * groupops/version.h: the version of the library. The build reads it from here.
 *
 * While the major version is 0, a new minor version may change or take away anything: a program
 * must be built again, and the soname says so (libgroupops.so.0.1). A new patch version changes no
 * interface: programs go on working, and behave as before but for what was mended.
 *
 * From 1.0 on, a new major version may break programs (and has a soname of its own, such as
 * libgroupops.so.1); a new minor version only adds, and what was built against an older one goes
 * on working.
 */
#ifndef GROUPOPS_VERSION_H
#define GROUPOPS_VERSION_H

#include <groupops/export.h>

#define GOPS_VERSION_MAJOR 0
#define GOPS_VERSION_MINOR 1
#define GOPS_VERSION_PATCH 0

/** The three as text, "0.1.0". */
#define GOPS_VERSION_STRING                                                                        \
    GOPS_VERSION_TEXT_(GOPS_VERSION_MAJOR, GOPS_VERSION_MINOR, GOPS_VERSION_PATCH)
#define GOPS_VERSION_TEXT_(major, minor, patch) GOPS_VERSION_JOIN_(major, minor, patch)
#define GOPS_VERSION_JOIN_(major, minor, patch) #major "." #minor "." #patch

#ifdef __cplusplus
extern "C" {
#endif

/** The version of the library that is running, as "major.minor.patch"; a constant string, never
 * NULL. It can differ from GOPS_VERSION_STRING, which is that of the header the caller was built
 * with. May be called by any thread at any time. */
GOPS_API const char *gops_version(void);

#ifdef __cplusplus
}
#endif

#endif
