// A spinlock of the C library beside what it protects.
#include <pthread.h>
#include <stdio.h>

static struct {
    pthread_spinlock_t lock;
    long sum, number;
} total;

static void *add(void *unused) {
    (void)unused;
    for (int i = 0; i < 20000000; i++) {
        pthread_spin_lock(&total.lock);
        total.sum += i;
        total.number++;
        pthread_spin_unlock(&total.lock);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    pthread_spin_init(&total.lock, 0);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, add, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("%ld %ld\n", total.sum, total.number);
}
