/* Children: 500 that fork makes, some with threads; from a program with threads; by vfork; and masks they inherit. */
#include "robust.h"
#include <sys/wait.h>

static volatile int stop;

static void *work(void *unused)
{
    while (!stop)
        burn(1);
    return unused;
}

static void *little(void *unused)
{
    burn(2);
    return unused;
}

static int wait_for(pid_t child)
{
    int status;
    NEED(waitpid(child, &status, 0) == child);
    NEED(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void fork_many(int times)
{
    long sum = 0;
    for (int i = 0; i < times; i++) {
        pid_t child = fork();
        NEED(child >= 0);
        if (child == 0) {
            burn(1);
            if (i % 16 == 0) {
                pthread_t threads[2];
                for (int t = 0; t < 2; t++)
                    NEED(!pthread_create(&threads[t], NULL, little, NULL));
                for (int t = 0; t < 2; t++)
                    pthread_join(threads[t], NULL);
            }
            if (i % 2)
                _exit(i % 100);
            fflush(stdout);
            exit(i % 100);
        }
        sum += wait_for(child);
    }
    printf("children %d sum %ld\n", times, sum);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    pthread_t threads[3];
    int times = argc > 1 ? atoi(argv[1]) : 500;

    fork_many(times);
    for (int t = 0; t < 3; t++)
        NEED(!pthread_create(&threads[t], NULL, work, NULL));
    fork_many(times / 10);
    for (int i = 0; i < times / 10; i++) {
        pid_t child = vfork();
        NEED(child >= 0);
        if (child == 0)
            _exit(i % 50);
        NEED(wait_for(child) == i % 50);
    }
    printf("vfork\n");
    stop = 1;
    for (int t = 0; t < 3; t++)
        pthread_join(threads[t], NULL);

    /* What belongs to the thread goes with it. */
    sigset_t all, now;
    stack_t own = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16}, had;
    sigfillset(&all);
    NEED(!sigprocmask(SIG_SETMASK, &all, NULL) && !sigaltstack(&own, NULL));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        NEED(!sigprocmask(SIG_SETMASK, NULL, &now) && sigismember(&now, SIGTRAP) && sigismember(&now, SIGUSR1));
        NEED(!sigaltstack(NULL, &had) && had.ss_sp == own.ss_sp && had.ss_flags == 0);
        burn(5);
        _exit(3);
    }
    printf("inherited %d\n", wait_for(child));
    return 0;
}
