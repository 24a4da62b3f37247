// A line for each thread: nothing is shared.
#include <pthread.h>
#include <stdio.h>

static struct {
    _Alignas(64) long count;
} counts[4];

static void *run(void *argument) {
    volatile long *own = argument;
    for (long i = 0; i < 100000000; i++) (*own)++;
    return NULL;
}

int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, run, &counts[i].count);
    long sum = 0;
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        sum += counts[i].count;
    }
    printf("%ld\n", sum);
}
