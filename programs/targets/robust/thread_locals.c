/* Two threads write neighbouring elements of a thread-local array of main's, which it gives them by address: false sharing.
 *
 *     cc -O1 -pthread thread_locals.c -o thread_locals && ./thread_locals [WRITES]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local char before[100];
static _Thread_local _Alignas(64) volatile long tallies[8];
static volatile long *shared;
static long writes;

static void *write_to(void *index)
{
    volatile long *tally = &shared[(long)index];
    for (long i = 0; i < writes; i++)
        *tally += i;
    return before;
}

int main(int argc, char **argv)
{
    writes = argc > 1 ? atol(argv[1]) : 100000000;
    shared = tallies;
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, write_to, (void *)i))
            return 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%ld %ld\n", tallies[0], tallies[1]);
    return 0;
}
