// A ring for one producer and one consumer. Head and tail share a line: each is written by one thread and read by both.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

enum { CAPACITY = 1024 };
#ifdef FIX
#define LINE _Alignas(64)
enum { BATCH = CAPACITY / 4, ITEMS = 200000000 };
#else
#define LINE
enum { BATCH = 1, ITEMS = 20000000 };
#endif

static struct {
    LINE _Atomic uint64_t head;
    LINE _Atomic uint64_t tail;
    LINE uint64_t slots[CAPACITY];
} ring;

static void *produce(void *unused) {
    (void)unused;
    for (uint64_t item = 0; item < ITEMS; item += BATCH) {
        uint64_t head = atomic_load_explicit(&ring.head, memory_order_relaxed);
        while (head - atomic_load_explicit(&ring.tail, memory_order_acquire) > CAPACITY - BATCH)
            sched_yield();
        for (uint64_t i = 0; i < BATCH; i++) ring.slots[(head + i) % CAPACITY] = item + i;
        atomic_store_explicit(&ring.head, head + BATCH, memory_order_release);
    }
    return NULL;
}

static void *consume(void *unused) {
    (void)unused;
    uint64_t sum = 0;
    for (uint64_t item = 0; item < ITEMS; item += BATCH) {
        uint64_t tail = atomic_load_explicit(&ring.tail, memory_order_relaxed);
        while (atomic_load_explicit(&ring.head, memory_order_acquire) - tail < BATCH)
            sched_yield();
        for (uint64_t i = 0; i < BATCH; i++) sum += ring.slots[(tail + i) % CAPACITY];
        atomic_store_explicit(&ring.tail, tail + BATCH, memory_order_release);
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
