// A quote behind a sequence lock: one thread publishes, three read.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

struct quote {
    atomic_uint sequence;
    atomic_long bid, ask;
    atomic_long volume;
};

static struct quote quote;
static atomic_int finished;

static void publish(long price) {
    unsigned sequence = atomic_load_explicit(&quote.sequence, memory_order_relaxed);
    atomic_store_explicit(&quote.sequence, sequence + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&quote.bid, price, memory_order_relaxed);
    atomic_store_explicit(&quote.ask, price + 1, memory_order_relaxed);
    atomic_store_explicit(&quote.volume, price * 3, memory_order_relaxed);
    atomic_store_explicit(&quote.sequence, sequence + 2, memory_order_release);
}

static long spread(void) {
    unsigned before, after;
    long bid, ask;
    do {
        before = atomic_load_explicit(&quote.sequence, memory_order_acquire);
        bid = atomic_load_explicit(&quote.bid, memory_order_relaxed);
        ask = atomic_load_explicit(&quote.ask, memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        after = atomic_load_explicit(&quote.sequence, memory_order_relaxed);
    } while ((before & 1) || before != after);
    return ask - bid;
}

static void *reader(void *unused) {
    long sum = 0;
    while (!atomic_load_explicit(&finished, memory_order_relaxed))
        sum += spread();
    return (void *)sum;
}

int main(void) {
    pthread_t readers[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&readers[i], NULL, reader, NULL);
    for (long i = 0; i < 60000000; i++)
        publish(i);
    finished = 1;
    for (int i = 0; i < 3; i++)
        pthread_join(readers[i], NULL);
    printf("%ld\n", quote.volume);
}
