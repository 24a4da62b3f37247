// A critical section of OpenMP in a loop.
#include <stdio.h>

static double sum;

int main(void) {
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < 60000000; i++) {
#pragma omp critical
        sum += i * 0.5;
    }
    printf("%.0f\n", sum);
}
