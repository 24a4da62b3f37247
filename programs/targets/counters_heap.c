/* counters.c with the structure on the heap: false sharing within one allocation, made by allocate_stats()
 * on behalf of main(). With -DPADDED each counter has a cache line of its own.
 *
 *     cc -g -O2 -pthread counters_heap.c -o counters_heap && ./counters_heap [INCREMENTS]
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

static long increments = 2000000000;

/* Kept out of line: the allocation's call path is what a profiler should show. */
__attribute__((noinline)) static struct stats *allocate_stats(void)
{
    /* A whole number of lines, aligned to one: no other allocation shares them. */
    size_t size = (sizeof(struct stats) + 63) / 64 * 64;
    struct stats *stats = aligned_alloc(64, size);
    if (!stats) {
        perror("counters_heap: aligned_alloc");
        exit(1);
    }
    stats->hits = 0;
    stats->misses = 0;
    return stats;
}

static void *count_hits(void *argument)
{
    struct stats *stats = argument;
    long n = increments;
    for (long i = 0; i < n; i++)
        stats->hits++;
    return NULL;
}

static void *count_misses(void *argument)
{
    struct stats *stats = argument;
    long n = increments;
    for (long i = 0; i < n; i++)
        stats->misses++;
    return NULL;
}

int main(int argc, char **argv)
{
    struct stats *stats = allocate_stats();
    pthread_t hits, misses;

    if (argc > 1)
        increments = atol(argv[1]);
    if (pthread_create(&hits, NULL, count_hits, stats) || pthread_create(&misses, NULL, count_misses, stats)) {
        perror("counters_heap: pthread_create");
        return 1;
    }
    pthread_join(hits, NULL);
    pthread_join(misses, NULL);
    printf("hits %lu misses %lu\n", stats->hits, stats->misses);
    free(stats);
    return 0;
}
