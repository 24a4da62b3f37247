// Small objects that malloc puts side by side, each for one thread.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct progress {
    long done, failed;
};

static void *advance(void *argument) {
    struct progress *own = argument;
    for (long i = 0; i < 300000000; i++) {
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
    struct progress *all[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) all[i] = start();
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, advance, all[i]);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    printf("%ld %ld\n", all[0]->done, all[3]->failed);
}
