/* little_memory MIB: executes itself again with so many MiB of addresses at most, and does some work there: what is observed of it may
 * be less, its output may not. */
#include "robust.h"
#include <sys/resource.h>

int main(int argc, char **argv)
{
    NEED(argc > 1);
    if (argc == 2) {
        struct rlimit limit = {(rlim_t)atoi(argv[1]) << 20, RLIM_INFINITY};
        NEED(!setrlimit(RLIMIT_AS, &limit));
        execl(argv[0], argv[0], argv[1], "limited", (char *)NULL);
        NEED(!"execl");
    }
    unsigned long sum = 0;
    for (int i = 1; i < 2000; i++) {
        unsigned char *block = malloc(64 + (size_t)i);
        NEED(block);
        memset(block, i, 64);
        for (int j = 0; j < 64; j++)
            sum = sum * 31 + block[j];
        free(block);
    }
    printf("%lu\n", sum);
    return 0;
}
