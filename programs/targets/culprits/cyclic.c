// Elements of an array that are dealt out to the threads one by one.
#include <stdio.h>
#include <stdlib.h>

#ifdef FIX
#define SCHEDULE schedule(static)
#else
#define SCHEDULE schedule(static, 1)
#endif

int main(void) {
    int n = 100000;
    double *x = calloc(n, sizeof *x), *y = calloc(n, sizeof *y);
    for (int i = 0; i < n; i++) x[i] = i;
    for (int round = 0; round < 1500; round++) {
#pragma omp parallel for SCHEDULE num_threads(4)
        for (int i = 0; i < n; i++) y[i] += x[i] * 0.5;
    }
    printf("%g\n", y[n - 1]);
}
