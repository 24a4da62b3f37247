/* Loads that take long by construction, next to loads that do not, and stores whose number is known.
 *
 * Each of THREADS threads makes STEPS steps: one along a chain through FAR_BYTES of memory, which is more than caches hold,
 * and NEAR loads from a small array that stays in the first level; then STORES stores to eight words of its own. The chain is in
 * the order of a linear congruential generator, so that nothing can fetch ahead, and making it takes no loads from it.
 * Prints where the memory of the first thread is: chain, array, words, each with its size.
 *
 *     cc -g -O1 -pthread far_loads.c -o far_loads && ./far_loads [STEPS] [STORES] [THREADS]
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define NODES (1ul << 21) /* 128 MiB */
#define NEAR 16

struct node {
    struct node *next;
    char rest[56];
};

struct words {
    uint64_t near[NEAR];
    uint64_t stored[8];
} __attribute__((aligned(64)));

static struct node *chain;
static long steps = 200000, stores = 400000;

static __attribute__((noinline)) uint64_t chase(struct words *own, struct node *node)
{
    volatile uint64_t *near = own->near;
    uint64_t sum = 0;
    for (long step = 0; step < steps; step++) {
        node = node->next;
        for (int i = 0; i < NEAR; i++)
            sum += near[i];
    }
    return sum + (uintptr_t)node;
}

static __attribute__((noinline)) void store(struct words *own)
{
    volatile uint64_t *stored = own->stored;
    for (long i = 0; i < stores; i++)
        stored[i & 7] = i;
}

static struct words own[64];

static void *work(void *number)
{
    long which = (long)number;
    uint64_t sum = chase(&own[which], &chain[which * (NODES / 64)]);
    store(&own[which]);
    return (void *)(uintptr_t)(sum & 1);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        steps = atol(argv[1]);
    if (argc > 2)
        stores = atol(argv[2]);
    long threads = argc > 3 ? atol(argv[3]) : 1;
    chain = mmap(NULL, NODES * sizeof *chain, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (chain == MAP_FAILED || threads < 1 || threads > 64)
        return 1;
    /* Full period: the increment is odd, and the factor is 1 modulo 4. */
    for (uint64_t at = 0; at < NODES; at++)
        chain[at].next = &chain[(at * 1664525 + 1013904223) % NODES];
    pthread_t ids[64];
    for (long i = 1; i < threads; i++)
        if (pthread_create(&ids[i], NULL, work, (void *)i))
            return 1;
    work(0);
    for (long i = 1; i < threads; i++)
        pthread_join(ids[i], NULL);
    printf("%p %lu\n%p %lu\n%p %lu\n", (void *)chain, NODES * sizeof *chain, (void *)own[0].near, sizeof own[0].near,
           (void *)own[0].stored, sizeof own[0].stored);
    return 0;
}
