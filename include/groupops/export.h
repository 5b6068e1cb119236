/**
 * @file
 * groupops/export.h: marks what leaves the shared library; everything else in it is hidden.
 */
#ifndef GROUPOPS_EXPORT_H
#define GROUPOPS_EXPORT_H

#if defined(__GNUC__)
#define GOPS_API __attribute__((visibility("default")))
#else
#define GOPS_API
#endif

#endif
