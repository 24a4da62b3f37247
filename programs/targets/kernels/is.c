/* Integer sort (as NAS IS), a control with almost no coherence traffic: threads count keys by themselves, and add the counts up once.
 */
#include "kernels.h"

enum { KEYS = 1 << 20, VALUES = 1 << 11, MOST_THREADS = 256 };

static int keys[KEYS], sorted[KEYS], ends[VALUES];
/* The counts of a thread, which has lines of its own. */
static struct { _Alignas(64) int of[VALUES]; } counts[MOST_THREADS];

static void sort(void)
{
    int threads = 1;
#pragma omp parallel
    {
        int own = omp_get_thread_num();
#pragma omp single
        threads = omp_get_num_threads();
        for (int value = 0; value < VALUES; value++)
            counts[own].of[value] = 0;
#pragma omp for schedule(static)
        for (int i = 0; i < KEYS; i++)
            counts[own].of[keys[i]]++;
        /* Where each thread's keys of each value begin. */
#pragma omp single
        for (int value = 0, at = 0; value < VALUES; value++) {
            for (int thread = 0; thread < threads; thread++) {
                int count = counts[thread].of[value];
                counts[thread].of[value] = at;
                at += count;
            }
            ends[value] = at;
        }
#pragma omp for schedule(static)
        for (int i = 0; i < KEYS; i++)
            sorted[counts[own].of[keys[i]]++] = keys[i];
    }
}

int main(int argc, char **argv)
{
    int rounds = rounds_of(argc, argv, 4);
    if (omp_get_max_threads() > MOST_THREADS)
        omp_set_num_threads(MOST_THREADS);
    unsigned long long state = 1;
    long sum = 0;
    for (int i = 0; i < KEYS; i++)
        sum += keys[i] = (int)(VALUES * next_random(&state));
    for (int round = 0; round < rounds; round++)
        sort();
    int wrong = ends[VALUES - 1] != KEYS;
    for (int i = 0; i < KEYS; i++) {
        wrong += i > 0 && sorted[i - 1] > sorted[i];
        sum -= sorted[i];
    }
    return verified("is", wrong + labs(sum), 0);
}
