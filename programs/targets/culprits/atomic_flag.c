// A lock made of an atomic flag.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_flag busy = ATOMIC_FLAG_INIT;
static struct {
    long a, b;
} sums __attribute__((aligned(64)));

static void *add(void *unused) {
    (void)unused;
    for (int i = 0; i < 20000000; i++) {
        while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) __builtin_ia32_pause();
        sums.a++;
        sums.b += i;
        atomic_flag_clear_explicit(&busy, memory_order_release);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, add, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("%ld %ld\n", sums.a, sums.b);
}
