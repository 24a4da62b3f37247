// Threads draw random numbers from the C library.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *throw_darts(void *unused) {
    long inside = 0;
#ifdef FIX
    unsigned seed = 1;
#define rand() rand_r(&seed)
#endif
    for (int i = 0; i < 3000000; i++) {
        double x = rand() / (double)RAND_MAX, y = rand() / (double)RAND_MAX;
        inside += x * x + y * y < 1;
    }
    return (void *)inside;
}

int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, throw_darts, NULL);
    long inside = 0;
    for (int i = 0; i < 4; i++) {
        void *part;
        pthread_join(threads[i], &part);
        inside += (long)part;
    }
    printf("%f\n", inside / 3000000.0);
}
