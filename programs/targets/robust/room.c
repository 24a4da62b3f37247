/* As much of the address space is free as natively: below 2 GiB, in holes that the program makes, below stacks that grow, and
 * up to a limit. */
#include "robust.h"
#include <sys/mman.h>
#include <sys/resource.h>

#define MIB (1UL << 20)
#define PAGE 4096UL
#define GIB (1UL << 30)
#define ANYWHERE (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

/* From the end of what the kernel never maps up to 2 GiB. */
static void low(void)
{
    char *all = mmap((char *)MIB, 2 * GIB - MIB, PROT_NONE, ANYWHERE | MAP_FIXED_NOREPLACE, -1, 0);
    NEED(all == (char *)MIB);
    NEED(!munmap(all, 2 * GIB - MIB));
    unsigned long found = 0;
    static char *pieces[1024];
    while (found < 1024
           && (pieces[found] = mmap(NULL, MIB, PROT_NONE, ANYWHERE | MAP_32BIT, -1, 0)) != MAP_FAILED)
        found++;
    /* Randomisation leaves out some of the GiB that the kernel uses for this. */
    printf("MAP_32BIT %s\n", found > 950 ? "yields a GiB" : "yields less");
    for (unsigned long i = 0; i < found; i++)
        munmap(pieces[i], MIB);
}

static __attribute__((noinline)) void *grow(void *limit)
{
    volatile char frame[256];
    frame[0] = 1;
    if ((char *)frame > (char *)limit)
        grow(limit);
    return (void *)(uintptr_t)frame[0];
}

/* A thread's stack that grows into 1 MiB that is free below it. */
static void growing_stack(void)
{
    size_t stack = 32 * PAGE, all = 256 * PAGE + stack, first = 4 * PAGE;
    char *hole = mmap(NULL, all, PROT_READ | PROT_WRITE, ANYWHERE, -1, 0);
    NEED(hole != MAP_FAILED && !munmap(hole, all));
    char *top = hole + all;
    NEED(mmap(top - first, first, PROT_READ | PROT_WRITE, ANYWHERE | MAP_FIXED | MAP_GROWSDOWN, -1, 0)
         == top - first);
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    NEED(!pthread_attr_setstack(&attributes, top - stack, stack));
    NEED(!pthread_create(&thread, &attributes, grow, top - stack + 2 * PAGE));
    NEED(!pthread_join(thread, NULL));
    puts("grown");
}

static void *compute(void *unused)
{
    burn(10);
    return unused;
}

/* What was unmapped stays free, even if threads begin and compute meanwhile. */
static void holes(void)
{
    enum { HOLES = 16 };
    static const size_t sizes[] = {PAGE, 16 * PAGE, MIB, 64 * MIB};
    char *places[HOLES], *walls[HOLES];
    for (int i = 0; i < HOLES; i++) {
        walls[i] = mmap(NULL, PAGE, PROT_NONE, ANYWHERE, -1, 0);
        places[i] = mmap(NULL, sizes[i % 4], PROT_NONE, ANYWHERE, -1, 0);
        NEED(walls[i] != MAP_FAILED && places[i] != MAP_FAILED);
    }
    pthread_t threads[4];
    /* Their stacks are placed before there are holes. */
    for (int i = 0; i < 4; i++)
        NEED(!pthread_create(&threads[i], NULL, compute, NULL));
    for (int i = 0; i < HOLES; i++)
        NEED(!munmap(places[i], sizes[i % 4]));
    for (int i = 0; i < 4; i++)
        NEED(!pthread_join(threads[i], NULL));
    burn(20);
    for (int i = 0; i < HOLES; i++)
        NEED(mmap(places[i], sizes[i % 4], PROT_NONE, ANYWHERE | MAP_FIXED_NOREPLACE, -1, 0) == places[i]);
    puts("holes stay");
}

/* Most of what the program allows itself by a limit on address space is left to it. */
static void limited(void)
{
    struct rlimit limit;
    unsigned long found = 0;
    NEED(!getrlimit(RLIMIT_AS, &limit));
    limit.rlim_cur = GIB;
    NEED(!setrlimit(RLIMIT_AS, &limit));
    while (mmap(NULL, MIB, PROT_NONE, ANYWHERE, -1, 0) != MAP_FAILED)
        found++;
    /* Stacks and heaps of threads take 300 MiB, and carom about 100. */
    printf("of a GiB %s\n", found > 500 ? "most is left" : "little is left");
}

int main(void)
{
    low();
    growing_stack();
    holes();
    limited();
    return 0;
}
