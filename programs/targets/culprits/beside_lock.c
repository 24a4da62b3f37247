// A mutex beside a limit that other threads read without it.
#include <pthread.h>
#include <stdio.h>

static struct {
    pthread_mutex_t lock;
#ifdef FIX
    _Alignas(64) long limit;
#else
    long limit;
#endif
} gate __attribute__((aligned(64))) = {PTHREAD_MUTEX_INITIALIZER, 100};
static long passed __attribute__((aligned(64)));

static void *pass(void *unused) {
    (void)unused;
    for (int i = 0; i < 4000000; i++) {
        pthread_mutex_lock(&gate.lock);
        passed++;
        pthread_mutex_unlock(&gate.lock);
    }
    return NULL;
}

static void *check(void *unused) {
    (void)unused;
    long below = 0;
    for (long i = 0; i < 150000000; i++) below += i % 128 < *(volatile long *)&gate.limit;
    printf("%ld\n", below);
    return NULL;
}

int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, i < 2 ? pass : check, NULL);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    printf("%ld\n", passed);
}
