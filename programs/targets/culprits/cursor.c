// Threads take the next item of a list by an atomic index.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
    unsigned *items;
    size_t length;
    atomic_size_t next;
} work;

static void *worker(void *unused) {
    unsigned long sum = 0;
    for (;;) {
        size_t index = atomic_fetch_add(&work.next, 1);
        if (index >= work.length)
            return (void *)sum;
        sum += work.items[index] * 7 % 11;
    }
}

int main(void) {
    work.length = 40000000;
    work.items = malloc(work.length * sizeof *work.items);
    for (size_t i = 0; i < work.length; i++)
        work.items[i] = i;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("%zu\n", work.next);
}
