/* base/version.c: the version as text. */
#include <groupops/version.h>

const char *gops_version(void)
{
    return GOPS_VERSION_STRING;
}
