// The iterations of a loop are handed out one by one.
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    const int n = 15000000;
    double *values = malloc(n * sizeof *values);
    for (int i = 0; i < n; i++)
        values[i] = i;
    double sum = 0;
#pragma omp parallel for schedule(dynamic, 1) num_threads(4) reduction(+ : sum)
    for (int i = 0; i < n; i++)
        sum += values[i] * 0.5;
    printf("%g\n", sum);
    free(values);
}
