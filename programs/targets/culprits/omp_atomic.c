// An OpenMP loop that adds to one number atomically.
#include <stdio.h>

static long matches;

int main(void) {
#ifdef FIX
#pragma omp parallel for num_threads(4) reduction(+ : matches)
#else
#pragma omp parallel for num_threads(4)
#endif
    for (int i = 0; i < 400000000; i++) {
        if (i % 3 != 0) continue;
#ifndef FIX
#pragma omp atomic
#endif
        matches++;
    }
    printf("%ld\n", matches);
}
