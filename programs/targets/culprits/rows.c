// Threads add up three colours each, in a row of their own.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4
#define COLORS 3

static double sums[THREADS][COLORS];

int main(void) {
    const int pixels = 3 << 18;
    unsigned char *image = malloc(pixels);
    for (int i = 0; i < pixels; i++)
        image[i] = rand();
#pragma omp parallel num_threads(THREADS)
    {
        int self = omp_get_thread_num();
        for (int round = 0; round < 80; round++) {
#pragma omp for
            for (int i = 0; i < pixels / 3; i++)
                for (int color = 0; color < COLORS; color++)
                    sums[self][color] += image[3 * i + color];
        }
    }
    double total = 0;
    for (int thread = 0; thread < THREADS; thread++)
        for (int color = 0; color < COLORS; color++)
            total += sums[thread][color];
    printf("%g\n", total);
    free(image);
}
