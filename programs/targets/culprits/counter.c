// One atomic counter that all threads add to.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_long requests;

static void *add(void *unused) {
    (void)unused;
#ifdef FIX
    volatile long own = 0;
    for (int i = 0; i < 20000000; i++) own++;
    atomic_fetch_add(&requests, own);
#else
    for (int i = 0; i < 20000000; i++) atomic_fetch_add(&requests, 1);
#endif
    return NULL;
}

int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, add, NULL);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    printf("%ld\n", atomic_load(&requests));
}
