// Four threads add to accounts under one mutex.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long accounts[64] __attribute__((aligned(64)));

static void *deposit(void *unused) {
    (void)unused;
#ifdef FIX
    volatile long own[64] = {0};
    for (int i = 0; i < 100000000; i++) own[i & 63] += i;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 64; i++) accounts[i] += own[i];
    pthread_mutex_unlock(&lock);
#else
    for (int i = 0; i < 3000000; i++) {
        pthread_mutex_lock(&lock);
        accounts[i & 63] += i;
        pthread_mutex_unlock(&lock);
    }
#endif
    return NULL;
}

int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, deposit, NULL);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    printf("%ld\n", accounts[3]);
}
