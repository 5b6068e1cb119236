/* The version of the headers, and that of the library that runs. */
#include <groupops/version.h>
#include <stdio.h>

#if GOPS_VERSION_MAJOR == 0 && GOPS_VERSION_MINOR < 1
#error "this program needs groupops 0.1"
#endif

int main(void)
{
    printf("built with %s, runs with %s\n", GOPS_VERSION_STRING, gops_version());
    return 0;
}
