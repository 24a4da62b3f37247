/* Computes, with two threads that share a line, long after it has forked: the parent stays sampled. */
#include "robust.h"
#include <sys/wait.h>

static _Alignas(64) volatile unsigned long pair[2];
static volatile int forked;

static void *count(void *which)
{
    long end = thread_ms() + 400;
    do {
        for (int i = 0; i < 50000; i++)
            pair[(long)which]++;
    } while (thread_ms() < end);
    return which;
}

static void *count_later(void *which)
{
    burn(1);
    while (!forked)
        usleep(100);
    return count(which);
}

int main(void)
{
    pthread_t thread;
    pid_t child;
    int status;
    NEED(!pthread_create(&thread, NULL, count_later, (void *)1));
    burn(1);
    child = fork();
    if (child == 0)
        _exit(0);
    NEED(waitpid(child, &status, 0) == child);
    forked = 1;
    count((void *)0);
    pthread_join(thread, NULL);
    printf("counted\n");
    return 0;
}
