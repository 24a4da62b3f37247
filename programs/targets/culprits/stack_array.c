// Sums of threads in an array on the stack of main.
#include <pthread.h>
#include <stdio.h>

#ifdef FIX
struct sum {
    _Alignas(64) long of;
};
#else
struct sum {
    long of;
};
#endif

static void *add(void *argument) {
    struct sum *own = argument;
    for (long i = 0; i < 100000000; i++) {
        own->of += i;
        __asm__ volatile("" ::: "memory");
    }
    return NULL;
}

int main(void) {
    struct sum sums[4] = {{0}};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, add, &sums[i]);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    printf("%ld\n", sums[0].of + sums[3].of);
}
