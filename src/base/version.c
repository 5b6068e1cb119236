/* base/version.c: the version as text. */
#include <groupops/version.h>

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

const char *gops_version(void)
{
    return TEXT(GOPS_VERSION_MAJOR) "." TEXT(GOPS_VERSION_MINOR) "." TEXT(GOPS_VERSION_PATCH);
}
