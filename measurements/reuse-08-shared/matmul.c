/* A matrix multiplication by OpenMP: each thread has rows of the product, all read the whole second factor. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 192;
    double *a = malloc(sizeof *a * n * n), *b = malloc(sizeof *b * n * n), *c = calloc(n * n, sizeof *c);
    if (!a || !b || !c)
        return 1;
    for (int i = 0; i < n * n; i++) {
        a[i] = i % 7;
        b[i] = i % 11;
    }
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                c[i * n + j] += a[i * n + k] * b[k * n + j];
    double sum = 0;
    for (int i = 0; i < n * n; i++)
        sum += c[i] * (i % 13);
    printf("%.0f\n", sum);
    return 0;
}
