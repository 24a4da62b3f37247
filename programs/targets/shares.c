/* Two threads load from and store to their own words of one cache line, and lines of their own. How many of the accesses go to
 * the shared line is known: the program prints it, and all accesses of its loops.
 *
 *     cc -g -O2 -pthread shares.c -o shares && ./shares even|later|cold [ITERATIONS]
 *
 * even: all the time, one access of five. later: the same instructions, in the first half with no line shared. cold: most accesses
 * are of blocks that are executed some ten thousand times each.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Accesses of an iteration: five loads and five stores, one of each to the shared line. */
enum { ACCESSES = 10, SHARED = 2, COLD_BLOCKS = 4000, COLD_ITERATIONS = 20000, COLD_ACCESSES = 3 };

struct line {
    _Alignas(64) long words[8];
};

static struct line shared, own[2];
static pthread_barrier_t together;
static const char *mode = "even";
static long iterations = 30000000;

/* Loads and stores here and there, n times. */
__attribute__((noinline)) static void run(long *here, long *there, long n)
{
    __asm__ volatile("1:\n\t"
                     "movq (%1), %%rax\n\t"
                     "movq %0, (%1)\n\t"
                     ".rept 4\n\t"
                     "movq (%2), %%rax\n\t"
                     "movq %0, (%2)\n\t"
                     ".endr\n\t"
                     "decq %0\n\t"
                     "jnz 1b"
                     : "+r"(n)
                     : "r"(here), "r"(there)
                     : "rax", "memory");
}

/* Many loops, one after the other: each is a block of its own. */
static void run_cold(long *from)
{
    __asm__ volatile(".rept %c1\n\t"
                     "movq %2, %%rcx\n\t"
                     "1:\n\t"
                     "movq (%0), %%rax\n\t"
                     "movq 8(%0), %%rax\n\t"
                     "movq 16(%0), %%rax\n\t"
                     "decq %%rcx\n\t"
                     "jnz 1b\n\t"
                     ".endr"
                     :
                     : "r"(from), "i"(COLD_BLOCKS), "i"(COLD_ITERATIONS)
                     : "rax", "rcx", "memory");
}

static void *work(void *argument)
{
    long index = (long)argument;
    /* Otherwise one may end before the other begins. */
    pthread_barrier_wait(&together);
    if (!strcmp(mode, "later"))
        run(own[index].words + 1, own[index].words, iterations);
    if (!strcmp(mode, "cold"))
        run_cold(own[index].words);
    pthread_barrier_wait(&together);
    run(shared.words + index, own[index].words, iterations);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    if (argc > 1)
        mode = argv[1];
    if (argc > 2)
        iterations = atol(argv[2]);
    pthread_barrier_init(&together, NULL, 2);
    for (long index = 0; index < 2; index++) {
        if (pthread_create(&threads[index], NULL, work, (void *)index)) {
            perror("shares: pthread_create");
            return 1;
        }
    }
    for (int index = 0; index < 2; index++)
        pthread_join(threads[index], NULL);
    long all = iterations * ACCESSES * (strcmp(mode, "later") ? 1 : 2);
    if (!strcmp(mode, "cold"))
        all += (long)COLD_BLOCKS * COLD_ITERATIONS * COLD_ACCESSES;
    printf("{\"shared\": %ld, \"accesses\": %ld}\n", 2 * SHARED * iterations, 2 * all);
    return 0;
}
