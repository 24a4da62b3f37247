/* Two threads write neighbouring elements of an array on main's stack: false sharing in a stack, which is
 * an object of thread 0 although thread 0 itself only waits.
 *
 *     cc -g -O2 -pthread stack_share.c -o stack_share && ./stack_share [WRITES]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct part {
    volatile unsigned long *sum;
    long writes;
};

static void *accumulate(void *argument)
{
    struct part *part = argument;
    volatile unsigned long *sum = part->sum;
    long n = part->writes;
    for (long i = 0; i < n; i++)
        *sum += i;
    return NULL;
}

int main(int argc, char **argv)
{
    long writes = argc > 1 ? atol(argv[1]) : 2000000000;
    /* The shared line, a line of its own. The descriptions below are only read while the threads run. */
    _Alignas(64) volatile unsigned long sums[8] = {0};
    _Alignas(64) struct part parts[2] = {{&sums[0], writes}, {&sums[1], writes}};
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, accumulate, &parts[i])) {
            perror("stack_share: pthread_create");
            return 1;
        }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("sums %lu %lu\n", sums[0], sums[1]);
    return 0;
}
