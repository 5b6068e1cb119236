/* What GOPS_API marks can be found by name, as a program does that loads the library when it runs. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *library = dlopen(argc > 1 ? argv[1] : "libgroupops.so.0.1", RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    const char *(*version)(void);
    *(void **)&version = dlsym(library, "gops_version");
    if (version == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    printf("groupops %s\n", version());
    return dlclose(library);
}
