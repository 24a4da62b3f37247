// A ring for one producer and one consumer. Head and tail share a line: each is written by one thread and read by both.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

enum { CAPACITY = 1024 };
static const uint64_t ITEMS = 20000000;

static struct {
    _Atomic uint64_t head, tail;
    uint64_t slots[CAPACITY];
} ring;

static void *produce(void *unused) {
    (void)unused;
    for (uint64_t item = 0; item < ITEMS; item++) {
        uint64_t head = atomic_load_explicit(&ring.head, memory_order_relaxed);
        while (head - atomic_load_explicit(&ring.tail, memory_order_acquire) == CAPACITY)
            sched_yield();
        ring.slots[head % CAPACITY] = item;
        atomic_store_explicit(&ring.head, head + 1, memory_order_release);
    }
    return NULL;
}

static void *consume(void *unused) {
    (void)unused;
    uint64_t sum = 0;
    for (uint64_t item = 0; item < ITEMS; item++) {
        uint64_t tail = atomic_load_explicit(&ring.tail, memory_order_relaxed);
        while (atomic_load_explicit(&ring.head, memory_order_acquire) == tail)
            sched_yield();
        sum += ring.slots[tail % CAPACITY];
        atomic_store_explicit(&ring.tail, tail + 1, memory_order_release);
    }
    printf("%lu\n", sum);
    return NULL;
}

int main(void) {
    pthread_t producer, consumer;
    pthread_create(&producer, NULL, produce, NULL);
    pthread_create(&consumer, NULL, consume, NULL);
    pthread_join(producer, NULL);
    pthread_join(consumer, NULL);
}
