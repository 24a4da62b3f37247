/* What the kernels of this folder share. They behave as the OpenMP programs of Marathe, Mueller and de Supinski (table I) do:
 * loops are divided statically, none goes on before all threads have ended it, and each thread has a processor of its own.
 *
 *     cc -g -O2 -fopenmp NAME.c -o NAME -lm && OMP_NUM_THREADS=2 ./NAME [ROUNDS]
 *
 * Each prints one line, and ends with status 1 if its result is wrong.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <math.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

/* Keeps each thread on one of the processors that the program may use. */
static void pin_threads(void)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed))
        return;
    int processors = CPU_COUNT(&allowed);
#pragma omp parallel
    {
        int wanted = omp_get_thread_num() % processors;
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
            if (CPU_ISSET(cpu, &allowed) && wanted-- == 0) {
                cpu_set_t own;
                CPU_ZERO(&own);
                CPU_SET(cpu, &own);
                sched_setaffinity(0, sizeof own, &own);
            }
        }
    }
}

/* How many rounds to make: the first argument, if there is one. */
static inline int rounds_of(int argc, char **argv, int usual)
{
    pin_threads();
    return argc > 1 ? atoi(argv[1]) : usual;
}

/* The end of main: the result may be off by this much. Not a number is wrong too. */
static inline int verified(const char *name, double error, double allowed)
{
    int right = error <= allowed;
    printf("%s: %s, error %.1e (at most %.0e)\n", name, right ? "verified" : "WRONG", error, allowed);
    return !right;
}

/* The next number in [0, 1) of a sequence: the generator of POSIX drand48, with a state of the caller's. */
static inline double next_random(unsigned long long *state)
{
    *state = (*state * 0x5DEECE66DULL + 0xB) & ((1ULL << 48) - 1);
    return (double)*state / (double)(1ULL << 48);
}
