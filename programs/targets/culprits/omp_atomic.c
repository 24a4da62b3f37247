// An OpenMP loop that adds to one number atomically.
#include <stdio.h>

static long matches;
static volatile unsigned char text[1024] __attribute__((aligned(64)));

int main(void) {
    for (int i = 0; i < 1024; i++) text[i] = i % 3;
#ifdef FIX
#pragma omp parallel for num_threads(4) reduction(+ : matches)
#else
#pragma omp parallel for num_threads(4)
#endif
    for (int i = 0; i < 400000000; i++) {
        if (text[i % 1024] != 0) continue;
#ifndef FIX
#pragma omp atomic
#endif
        matches++;
    }
    printf("%ld\n", matches);
}
