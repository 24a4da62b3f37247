// One number for each thread, side by side.
#include <pthread.h>
#include <stdio.h>

static long counts[4] __attribute__((aligned(64)));

static void *run(void *argument) {
    volatile long *own = argument;
#ifdef FIX
    volatile long count = 0;
    for (long i = 0; i < 100000000; i++) count++;
    *own = count;
#else
    for (long i = 0; i < 100000000; i++) (*own)++;
#endif
    return NULL;
}

int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, run, &counts[i]);
    long sum = 0;
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        sum += counts[i];
    }
    printf("%ld\n", sum);
}
