// Settings that two threads read, beside a counter that a third one writes.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#ifndef TIMES
#define TIMES 1
#endif

static struct server {
    int port, timeout;
    long connections;
#ifdef FIX
    _Alignas(64)
#endif
    atomic_long requests;
    char *name;
} server = {80, 30, 1000, 0, "x"};

static void *read_settings(void *unused) {
    (void)unused;
    long sum = 0;
    for (long i = 0; i < TIMES * 60000000L; i++) sum += *(volatile long *)&server.connections;
    printf("%ld\n", sum);
    return NULL;
}

static void *count_requests(void *unused) {
    (void)unused;
    for (long i = 0; i < TIMES * 20000000L; i++) atomic_fetch_add(&server.requests, 1);
    return NULL;
}

int main(void) {
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, read_settings, NULL);
    pthread_create(&threads[1], NULL, read_settings, NULL);
    pthread_create(&threads[2], NULL, count_requests, NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
}
