/* Two counters in one global structure, each incremented by a thread of its own: false sharing between
 * `hits` and `misses`. With -DPADDED each has a cache line of its own, and the finding must go away.
 *
 *     cc -g -O2 -pthread counters.c -o counters && ./counters [INCREMENTS]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef PADDED
#define OWN_LINE _Alignas(64)
#else
#define OWN_LINE
#endif

struct stats {
    OWN_LINE volatile unsigned long hits;
    OWN_LINE volatile unsigned long misses;
};

/* Aligned, so that both counters lie in one line wherever the linker puts them. */
_Alignas(64) struct stats stats;

static long increments = 500000000;

static void *count_hits(void *unused)
{
    long n = increments;
    for (long i = 0; i < n; i++)
        stats.hits++;
    return unused;
}

static void *count_misses(void *unused)
{
    long n = increments;
    for (long i = 0; i < n; i++)
        stats.misses++;
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t hits, misses;

    if (argc > 1)
        increments = atol(argv[1]);
    if (pthread_create(&hits, NULL, count_hits, NULL) || pthread_create(&misses, NULL, count_misses, NULL)) {
        perror("counters: pthread_create");
        return 1;
    }
    pthread_join(hits, NULL);
    pthread_join(misses, NULL);
    printf("hits %lu misses %lu\n", stats.hits, stats.misses);
    return 0;
}
