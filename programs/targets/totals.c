/* Two threads that each increment a counter of their own, and every fourth time a total of both: false sharing between the
 * counters, which -DPADDED ends, and true sharing of the total, which it does not. Both threads live until both have counted.
 *
 *     cc -g -O2 -pthread totals.c -o totals && ./totals [INCREMENTS]
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

/* Aligned, so that both counters lie in one line wherever the linker puts them, and the total in another. */
_Alignas(64) struct stats stats;
_Alignas(64) struct { unsigned long of_both, unused[7]; } total;

static long increments = 100000000;
static pthread_barrier_t both;

static void count(volatile unsigned long *own)
{
    pthread_barrier_wait(&both);
    for (long i = 0; i < increments; i++) {
        *own += 1;
        if (i % 4 == 3)
            __atomic_fetch_add(&total.of_both, 1, __ATOMIC_RELAXED);
    }
    pthread_barrier_wait(&both);
}

static void *count_hits(void *unused)
{
    count(&stats.hits);
    return unused;
}

static void *count_misses(void *unused)
{
    count(&stats.misses);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t hits, misses;
    if (argc > 1)
        increments = atol(argv[1]);
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&hits, NULL, count_hits, NULL);
    pthread_create(&misses, NULL, count_misses, NULL);
    pthread_join(hits, NULL);
    pthread_join(misses, NULL);
    printf("%lu %lu %lu\n", stats.hits, stats.misses, total.of_both);
    return 0;
}
