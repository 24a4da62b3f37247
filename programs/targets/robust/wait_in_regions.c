/*
 * Parallel regions of OpenMP whose threads wait for each other. Prints how often each was done, as wait_for_threads.c does.
 *
 *     cc -g -O1 -fopenmp wait_in_regions.c -o wait_in_regions && ./wait_in_regions [REGIONS]
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 3, STEPS = 12 };

/* The name that GCC gives the lock of the section. */
extern void *section __asm__(".gomp_critical_user_tally");

int main(int argc, char **argv)
{
    long regions = argc > 1 ? atol(argv[1]) : 20;
    long tally = 0, other = 0, steps = 0, loops = 0;
    omp_lock_t lock;
    omp_init_lock(&lock);
    for (long region = 0; region < regions; region++) {
#pragma omp parallel num_threads(THREADS) reduction(+ : steps)
        {
#pragma omp critical(tally)
            tally++;
#pragma omp barrier
            if (tally != THREADS * (region + 1))
                abort();
#pragma omp for schedule(dynamic)
            for (int step = 0; step < STEPS; step++)
                steps += step;
            omp_set_lock(&lock);
            other++;
            omp_unset_lock(&lock);
        }
        /* A loop that is a region of its own has arguments on the stack. */
#pragma omp parallel for schedule(dynamic, 2) num_threads(THREADS)
        for (long step = 5; step < 5 + STEPS; step++)
#pragma omp atomic
            loops += step;
    }
    if (other != THREADS * regions || steps != regions * 66 || loops != regions * 126)
        abort();
    long parts = THREADS * regions;
    printf("fork 0 %ld\nmerge 0 %ld\nenter 0 %ld\nleave 0 %ld\n", 2 * regions, 2 * regions, 2 * parts, 2 * parts);
    printf("lock %p %ld\nunlock %p %ld\n", (void *)&section, parts, (void *)&section, parts);
    printf("lock %p %ld\nunlock %p %ld\n", (void *)&lock, parts, (void *)&lock, parts);
    /* At the barrier, and at the end of the first loop. */
    printf("arrive 0 %ld\ndepart 0 %ld\n", 2 * parts, 2 * parts);
    return 0;
}
