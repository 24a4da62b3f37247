// Statistics that all threads count in: parting the two counters would not help.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct stats {
    atomic_long hits, misses;
    char name[16];
};
static struct stats *stats;

static void *look_up(void *seed) {
    unsigned random = (unsigned)(long)seed;
    for (int i = 0; i < 15000000; i++) {
        random = random * 1103515245u + 12345u;
        atomic_fetch_add_explicit(random >> 16 & 1 ? &stats->hits : &stats->misses, 1, memory_order_relaxed);
    }
    return NULL;
}

int main(void) {
    stats = calloc(1, sizeof *stats);
    pthread_t threads[4];
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, look_up, (void *)(i + 1));
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    printf("%ld %ld\n", stats->hits, stats->misses);
}
