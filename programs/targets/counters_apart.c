/* Two counters in one global structure, each incremented by a thread of its own once in eight times, and else a
 * private one: false sharing between `hits` and `misses` that the threads are seldom both sampled at. Both give the
 * processor away every now and then, so that they take many turns where they have to share one.
 *
 *     cc -g -O1 -pthread counters_apart.c -o counters_apart && ./counters_apart [EIGHTS]
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

struct stats {
    volatile unsigned long hits;
    volatile unsigned long misses;
};

/* Aligned, so that both counters lie in one line wherever the linker puts them. */
_Alignas(64) struct stats stats;

struct own {
    _Alignas(64) volatile unsigned long counter;
};

struct own owns[2];

static long eights = 25000000;

/* Eights from one turn to the next. */
enum { TURN = 25000 };

static void count(volatile unsigned long *shared, volatile unsigned long *own)
{
    for (long i = 0; i < eights; i++) {
        *shared += 1;
        for (int j = 1; j < 8; j++)
            *own += 1;
        if (i % TURN == TURN - 1)
            sched_yield();
    }
}

static void *count_hits(void *unused)
{
    count(&stats.hits, &owns[0].counter);
    return unused;
}

static void *count_misses(void *unused)
{
    count(&stats.misses, &owns[1].counter);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t hits, misses;
    if (argc > 1)
        eights = atol(argv[1]);
    pthread_create(&hits, NULL, count_hits, NULL);
    pthread_create(&misses, NULL, count_misses, NULL);
    pthread_join(hits, NULL);
    pthread_join(misses, NULL);
    printf("%lu %lu\n", stats.hits + owns[0].counter, stats.misses + owns[1].counter);
    return 0;
}
