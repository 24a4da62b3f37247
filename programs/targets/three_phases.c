/* Three phases that memory tells apart, and in the second of which alone threads share:
 *
 *   1. one thread takes 64 MiB, page by page, and works alone;
 *   2. two threads increment two counters of one line: false sharing of `pair`, while memory rests;
 *   3. two threads take 32 MiB each, page by page, and increment counters on lines of their own.
 *
 * Prints when the second begins, when the third does, and when that ends: CLOCK_MONOTONIC, in nanoseconds.
 *
 *     cc -g -O2 -pthread three_phases.c -o three_phases && ./three_phases [MILLISECONDS OF A PHASE]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { PAGE = 4096, PAGES = 16384, TURN = 1000 };

struct counter {
    _Alignas(64) volatile unsigned long count;
};

static _Alignas(64) volatile unsigned long pair[2];
static struct counter apart[2];
static struct counter alone;

static char *memory;
static long long length;

static long long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* Increments for `length`, and meanwhile takes pages at an even pace: all of them when it ends. */
static void work(volatile unsigned long *counter, char *pages, long count)
{
    long long begin = now();
    long taken = 0;
    for (long long passed = 0; passed < length; passed = now() - begin) {
        for (int n = 0; n < TURN; n++)
            ++*counter;
        for (; taken < count && taken * length < passed * count; taken++)
            pages[taken * PAGE] = 1;
    }
}

static void *share(void *number)
{
    work(&pair[(long)number], NULL, 0);
    return NULL;
}

static void *keep_apart(void *number)
{
    long half = PAGES / 2;
    work(&apart[(long)number].count, memory + (PAGES + (long)number * half) * (long)PAGE, half);
    return NULL;
}

/* Both threads from beginning to end. */
static void both(void *(*routine)(void *))
{
    pthread_t threads[2];
    for (long n = 0; n < 2; n++)
        if (pthread_create(&threads[n], NULL, routine, (void *)n))
            exit(1);
    for (int n = 0; n < 2; n++)
        pthread_join(threads[n], NULL);
}

int main(int argc, char **argv)
{
    length = (argc > 1 ? atol(argv[1]) : 600) * 1000000LL;
    memory = mmap(NULL, 2L * PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 1;
    /* Memory that comes in large pages comes in steps. */
    madvise(memory, 2L * PAGES * PAGE, MADV_NOHUGEPAGE);
    work(&alone.count, memory, PAGES);
    long long second = now();
    both(share);
    long long third = now();
    both(keep_apart);
    printf("%lld %lld %lld\n", second, third, now());
    return 0;
}
