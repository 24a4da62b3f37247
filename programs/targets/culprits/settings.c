// A variable that is hardly ever written and often read, beside a counter.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#ifdef FIX
#define LINE _Alignas(64)
#else
#define LINE
#endif
LINE int verbose = 1;
LINE atomic_int errors = 1;

static void *work(void *unused) {
    (void)unused;
    long printed = 0;
    for (long i = 0; i < 100000000; i++) printed += *(volatile int *)&verbose;
    printf("%ld\n", printed);
    return NULL;
}

static void *fail(void *unused) {
    (void)unused;
    for (int i = 0; i < 30000000; i++) atomic_fetch_add(&errors, 1);
    return NULL;
}

int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, i < 2 ? work : fail, NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    printf("%d\n", errors);
}
