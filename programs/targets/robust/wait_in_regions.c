/*
 * Parallel regions of OpenMP whose threads wait for each other. Prints how often each was done, as wait_for_threads.c does.
 *
 *     cc -g -O1 -fopenmp wait_in_regions.c -o wait_in_regions && ./wait_in_regions [REGIONS]
 */
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 3, STEPS = 12, ADDED = 5 };

/* The name that GCC gives the lock of the section. */
extern void *section __asm__(".gomp_critical_user_tally");

int main(int argc, char **argv)
{
    long regions = argc > 1 ? atol(argv[1]) : 20;
    long tally = 0, other = 0, steps = 0, loops = 0;
    long double sum = 0;
    omp_lock_t lock;
    omp_nest_lock_t nest;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
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
            omp_set_nest_lock(&nest);
            if (omp_test_nest_lock(&nest) != 2)
                abort();
            omp_unset_nest_lock(&nest);
            omp_unset_nest_lock(&nest);
        }
        /* One thread is in the section without a name while the other one has the lock for atomic updates of what is too wide. */
        int is_inside = 0, is_added = 0;
#pragma omp parallel num_threads(2) shared(is_inside, is_added)
        if (omp_get_thread_num() == 0) {
#pragma omp critical
            {
                __atomic_store_n(&is_inside, 1, __ATOMIC_RELEASE);
                while (!__atomic_load_n(&is_added, __ATOMIC_ACQUIRE))
                    sched_yield();
            }
        } else {
            while (!__atomic_load_n(&is_inside, __ATOMIC_ACQUIRE))
                sched_yield();
            for (int i = 0; i < ADDED; i++)
#pragma omp atomic
                sum += 1;
            __atomic_store_n(&is_added, 1, __ATOMIC_RELEASE);
        }
        /* A loop that is a region of its own has arguments on the stack. */
#pragma omp parallel for schedule(dynamic, 2) num_threads(THREADS)
        for (long step = 5; step < 5 + STEPS; step++)
#pragma omp atomic
            loops += step;
    }
    if (other != THREADS * regions || steps != regions * 66 || loops != regions * 126 ||
        sum != (long double)(ADDED * regions))
        abort();
    long parts = THREADS * regions, all = 2 * parts + 2 * regions;
    printf("fork 0 %ld\nmerge 0 %ld\nenter 0 %ld\nleave 0 %ld\n", 3 * regions, 3 * regions, all, all);
    printf("lock %p %ld\nunlock %p %ld\n", (void *)&section, parts, (void *)&section, parts);
    printf("lock %p %ld\nunlock %p %ld\n", (void *)&lock, parts, (void *)&lock, parts);
    printf("lock %p %ld\nunlock %p %ld\n", (void *)&nest, 2 * parts, (void *)&nest, 2 * parts);
    /* The section without a name, and the lock for atomic updates. */
    printf("lock 1 %ld\nunlock 1 %ld\n", regions, regions);
    printf("lock 1 %ld\nunlock 1 %ld\n", ADDED * regions, ADDED * regions);
    /* At the barrier, and at the end of the first loop. */
    printf("arrive 0 %ld\ndepart 0 %ld\n", 2 * parts, 2 * parts);
    return 0;
}
