// Two small objects that malloc puts side by side, each for one thread.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct progress {
    long done, failed;
};

static void *advance(void *argument) {
    struct progress *own = argument;
    for (long i = 0; i < 100000000; i++) {
        own->done++;
        if (i % 10 == 0) own->failed++;
        __asm__ volatile("" ::: "memory");
    }
    return NULL;
}

static struct progress *start(void) {
#ifdef FIX
    struct progress *new = aligned_alloc(64, 64);
#else
    struct progress *new = malloc(sizeof *new);
#endif
    *new = (struct progress){0, 0};
    return new;
}

int main(void) {
    struct progress *reader = start(), *writer = start();
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, advance, reader);
    pthread_create(&threads[1], NULL, advance, writer);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("%ld %ld\n", reader->done, writer->failed);
}
