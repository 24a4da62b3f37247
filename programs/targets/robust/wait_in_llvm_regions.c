/*
 * Parallel regions of LLVM's OpenMP runtime whose threads wait for each other. It makes the calls that clang makes of directives,
 * so any compiler will do. Prints how often each was done, as wait_for_threads.c does.
 *
 *     cc -g -O1 wait_in_llvm_regions.c -l:libomp.so.5 -o wait_in_llvm_regions && ./wait_in_llvm_regions [REGIONS]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The runtime's types and functions (openmp/runtime/src/kmp.h). */
struct place {
    int32_t reserved, flags, others[2];
    const char *source;
};
typedef int32_t section_t[8];
typedef void (*part_t)(int32_t *thread, int32_t *bound, ...);
extern int32_t __kmpc_global_thread_num(struct place *);
extern void __kmpc_push_num_threads(struct place *, int32_t thread, int32_t threads);
extern void __kmpc_fork_call(struct place *, int32_t arguments, part_t part, ...);
extern void __kmpc_barrier(struct place *, int32_t thread);
extern void __kmpc_critical(struct place *, int32_t thread, section_t *);
extern void __kmpc_end_critical(struct place *, int32_t thread, section_t *);
extern void __kmpc_atomic_start(void);
extern void __kmpc_atomic_end(void);
extern int32_t __kmpc_reduce_nowait(struct place *, int32_t thread, int32_t variables, size_t size, void *data,
                                    void (*function)(void *, void *), section_t *);
extern void __kmpc_end_reduce_nowait(struct place *, int32_t thread, section_t *);
extern void kmp_set_blocktime(int milliseconds);
typedef struct { void *lock; } omp_lock_t;
extern void omp_init_lock(omp_lock_t *);
extern void omp_set_lock(omp_lock_t *);
extern void omp_unset_lock(omp_lock_t *);

enum { THREADS = 3, KMPC = 2, EXPLICIT_BARRIER = 0x20 };

static struct place here = {0, KMPC, {0, 0}, ";unknown;unknown;0;0;;"};
static struct place at_barrier = {0, KMPC | EXPLICIT_BARRIER, {0, 0}, ";unknown;unknown;0;0;;"};
static section_t tally_section, sum_section;
static omp_lock_t lock;

static void check(int is_right)
{
    if (!is_right)
        abort();
}

/* A region without arguments. */
static void locked(int32_t *thread, int32_t *bound)
{
    static long had;
    (void)bound;
    omp_set_lock(&lock);
    long before = had++;
    omp_unset_lock(&lock);
    check(before >= 0);
    __kmpc_barrier(&at_barrier, *thread);
}

/* As many as there is room for in registers. */
static void reduced(int32_t *thread, int32_t *bound, long *sum, long *a, long *b, long *c)
{
    long mine = *a + *b + *c;
    (void)bound;
    if (__kmpc_reduce_nowait(&here, *thread, 1, sizeof mine, NULL, NULL, &sum_section) == 1) {
        *sum += mine;
        __kmpc_end_reduce_nowait(&here, *thread, &sum_section);
    }
}

/* Some more, an odd and an even number of them on the stack. */
static void five(int32_t *thread, int32_t *bound, long *a, long *b, long *c, long *d, long *sum)
{
    (void)thread, (void)bound;
    __kmpc_atomic_start();
    *sum += *a + 10 * *b + 100 * *c + 1000 * *d;
    __kmpc_atomic_end();
}

static void six(int32_t *thread, int32_t *bound, long *tally, long *a, long *b, long *c, long *regions, long *alone)
{
    (void)bound;
    __kmpc_critical(&here, *thread, &tally_section);
    ++*tally;
    __kmpc_end_critical(&here, *thread, &tally_section);
    __kmpc_barrier(&at_barrier, *thread);
    check(*tally == THREADS * *regions && *a == 1 && *b == 2 && *c == 3);
    /* A region of one: its barrier is that of nobody else. */
    long sum = 0;
    __kmpc_fork_call(&here, 0, (part_t)locked);
    __kmpc_fork_call(&here, 5, (part_t)five, a, b, c, a, &sum);
    check(sum == 1321);
    if (sum == 0)
        ++*alone;
}

int main(int argc, char **argv)
{
    long regions = argc > 1 ? atol(argv[1]) : 20;
    long tally = 0, sum = 0, alone = 0, a = 1, b = 2, c = 3;
    kmp_set_blocktime(0);
    omp_init_lock(&lock);
    int32_t thread = __kmpc_global_thread_num(&here);
    for (long region = 1; region <= regions; region++) {
        __kmpc_push_num_threads(&here, thread, THREADS);
        __kmpc_fork_call(&here, 0, (part_t)locked);
        __kmpc_push_num_threads(&here, thread, THREADS);
        __kmpc_fork_call(&here, 4, (part_t)reduced, &sum, &a, &b, &c);
        __kmpc_push_num_threads(&here, thread, THREADS);
        __kmpc_fork_call(&here, 6, (part_t)six, &tally, &a, &b, &c, &region, &alone);
    }
    long parts = THREADS * regions;
    check(sum == 6 * parts && alone == 0);
    /* Three regions, and in each part of the last one two more, of one thread each. */
    long forks = 3 * regions + 2 * parts, enters = 3 * parts + 2 * parts;
    printf("fork 0 %ld\nmerge 0 %ld\nenter 0 %ld\nleave 0 %ld\n", forks, forks, enters, enters);
    printf("lock %p %ld\nunlock %p %ld\n", (void *)&tally_section, parts, (void *)&tally_section, parts);
    printf("lock %p %ld\nunlock %p %ld\n", (void *)&sum_section, parts, (void *)&sum_section, parts);
    printf("lock %p %ld\nunlock %p %ld\n", (void *)&lock, 2 * parts, (void *)&lock, 2 * parts);
    /* The lock for atomic updates. */
    printf("lock 1 %ld\nunlock 1 %ld\n", parts, parts);
    printf("arrive 0 %ld\ndepart 0 %ld\n", 3 * parts, 3 * parts);
    return 0;
}
