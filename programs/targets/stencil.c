/* Jacobi iterations of the five-point stencil on an n by n grid, rows divided among OpenMP threads. Threads
 * exchange the rows at their borders: nearest-neighbour communication, little of it. The checksum does not
 * depend on the number of threads.
 *
 *     cc -g -O2 -fopenmp stencil.c -o stencil && ./stencil [N] [ITERATIONS]
 */
#include <stdio.h>
#include <stdlib.h>

static void relax(long n, const double *from, double *to)
{
#pragma omp parallel for schedule(static)
    for (long i = 1; i < n - 1; i++)
        for (long j = 1; j < n - 1; j++)
            to[i * n + j] = 0.25 * (from[(i - 1) * n + j] + from[(i + 1) * n + j] + from[i * n + j - 1]
                                    + from[i * n + j + 1]);
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 1024;
    long iterations = argc > 2 ? atol(argv[2]) : 5000;

    /* Enough for a border and an inside, and small enough for n * n not to overflow. */
    if (n < 3 || n > 1000000 || iterations < 0) {
        fprintf(stderr, "usage: stencil [N >= 3] [ITERATIONS >= 0]\n");
        return 2;
    }
    double *from = calloc(n * n, sizeof *from), *to = calloc(n * n, sizeof *to);
    if (!from || !to) {
        perror("stencil: calloc");
        return 1;
    }
    /* The upper border is hot and stays so; the rest begins cold. */
    for (long j = 0; j < n; j++)
        from[j] = to[j] = 1.0;

    for (long t = 0; t < iterations; t++) {
        relax(n, from, to);
        double *swap = from;
        from = to;
        to = swap;
    }

    double sum = 0;
    for (long i = 0; i < n * n; i++)
        sum += from[i];
    printf("n %ld iterations %ld checksum %.12e\n", n, iterations, sum);
    free(from);
    free(to);
    return 0;
}
