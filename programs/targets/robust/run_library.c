/*
 * Loads a library and calls its `main` with the other arguments.
 *
 *     cc run_library.c -ldl -o run_library && ./run_library ./LIBRARY.so [ARGUMENTS]
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    if (dlerror() != NULL) {
        fprintf(stderr, "an error where there was none\n");
        return 1;
    }
    int (*begin)(int, char **) = (int (*)(int, char **))dlsym(library, "main");
    return begin(argc - 1, argv + 1);
}
