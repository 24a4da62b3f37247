/* Threads that stream: y[i] += a * x[i] over arrays of DOUBLES doubles each, PASSES times, a part of the arrays to a thread.
 * The first element of a line is reached a whole pass after the last one: a spatial reuse that no cache smaller than the
 * arrays keeps.
 *
 *     cc -g -O2 -fopenmp streams.c -o streams && ./streams DOUBLES PASSES
 */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    long doubles = argc > 1 ? atol(argv[1]) : 4 << 20, passes = argc > 2 ? atol(argv[2]) : 10;
    double *x = aligned_alloc(64, doubles * sizeof *x), *y = aligned_alloc(64, doubles * sizeof *y);
    if (doubles < 1 || !x || !y)
        return 1;
#pragma omp parallel
    for (long pass = 0; pass <= passes; pass++) {
#pragma omp for schedule(static)
        for (long i = 0; i < doubles; i++) {
            if (pass == 0)
                x[i] = i % 17, y[i] = 0;
            else
                y[i] += 0.5 * x[i];
        }
    }
    double sum = 0;
    for (long i = 0; i < doubles; i++)
        sum += y[i];
    printf("%.17g\n", sum);
    return 0;
}
