// Threads that meet at a barrier after a hundred additions each.
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 2, ADDITIONS = 20000000 };
#ifdef FIX
enum { ROUNDS = 20 };
#else
enum { ROUNDS = 200000 };
#endif

static pthread_barrier_t meeting;

static void *step(void *unused) {
    (void)unused;
    volatile double x = 1;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < ADDITIONS / ROUNDS; i++) x += 1 / x;
        pthread_barrier_wait(&meeting);
    }
    printf("%f\n", x);
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&meeting, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, step, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}
