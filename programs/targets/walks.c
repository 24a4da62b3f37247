/* Five walks over SIZE bytes, ROUNDS times, each of which misses in a smaller cache for a reason of its own:
 *
 *   across   the columns of a square matrix of doubles that lies in memory by rows: each access comes to another line
 *   along    the same matrix by rows: the next round comes back to what the round before has evicted
 *   twice    by rows, written by one loop and read by the next
 *   random   in no order
 *   once     fresh memory in each round, by rows, twice in each line and never again
 *
 *     cc -g -O2 walks.c -o walks && ./walks across [SIZE] [ROUNDS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double *matrix;
static long size;

static __attribute__((noinline)) double across(long n)
{
    double sum = 0;
    for (long column = 0; column < n; column++)
        for (long row = 0; row < n; row++)
            sum += matrix[row * n + column];
    return sum;
}

static __attribute__((noinline)) double along(long n)
{
    double sum = 0;
    for (long i = 0; i < n * n; i++)
        sum += matrix[i];
    return sum;
}

static __attribute__((noinline)) void make(long n)
{
    for (long i = 0; i < n * n; i++)
        matrix[i] = i;
}

static __attribute__((noinline)) double at_random(long n)
{
    static unsigned long state = 1;
    double sum = 0;
    for (long i = 0; i < n * n; i++) {
        state = state * 6364136223846793005ul + 1442695040888963407ul;
        sum += matrix[(state >> 33) % (n * n)];
    }
    return sum;
}

static __attribute__((noinline)) double fresh(long n)
{
    volatile double *once = malloc(size);
    double sum = 0;
    for (long i = 0; i < n * n; i += 4)
        sum += once[i];
    return sum;
}

int main(int argc, char **argv)
{
    const char *walk = argc > 1 ? argv[1] : "across";
    size = argc > 2 ? atol(argv[2]) : 8 << 20;
    long rounds = argc > 3 ? atol(argv[3]) : 10;
    long n = 1;
    double sum = 0;

    while ((n + 1) * (n + 1) * (long)sizeof *matrix <= size)
        n++;
    matrix = malloc(size);
    make(n);
    for (long round = 0; round < rounds; round++) {
        if (!strcmp(walk, "across"))
            sum += across(n);
        else if (!strcmp(walk, "random"))
            sum += at_random(n);
        else if (!strcmp(walk, "once"))
            sum += fresh(n);
        else {
            if (!strcmp(walk, "twice"))
                make(n);
            sum += along(n);
        }
    }
    printf("%s %.3e\n", walk, sum);
    return 0;
}
