/* reloaded FIRST SECOND: a library is unloaded while no descriptor is free, and another one of the same layout is loaded at
 * its address: the code of the second one runs. */
#include "robust.h"
#include <dlfcn.h>
#include <sys/resource.h>

static long sum(void *library)
{
    NEED(library);
    long (*number)(void) = (long (*)(void))dlsym(library, "plugin_number");
    NEED(number);
    long sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += number();
    return sum;
}

int main(int argc, char **argv)
{
    NEED(argc == 3);
    void *library = dlopen(argv[1], RTLD_NOW);
    long first = sum(library);
    struct rlimit limit, none;
    NEED(!getrlimit(RLIMIT_NOFILE, &limit));
    none = limit;
    none.rlim_cur = 3;
    NEED(!setrlimit(RLIMIT_NOFILE, &none));
    NEED(!dlclose(library));
    NEED(!setrlimit(RLIMIT_NOFILE, &limit));
    printf("%ld, then %ld\n", first, sum(dlopen(argv[2], RTLD_NOW)));
    return 0;
}
