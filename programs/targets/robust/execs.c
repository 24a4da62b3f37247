/* execs N: computes, then executes itself with N - 1, in a child if N is odd. 0 ends with status 11; parents add 1 to it. */
#include "robust.h"
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static void *work(void *unused)
{
    for (;;)
        burn(5);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    char next[16];
    int left = argc > 1 ? atoi(argv[1]) : 0;

    NEED(!pthread_create(&thread, NULL, work, NULL));
    burn(10);
    printf("left %d\n", left);
    fflush(stdout);
    if (left == 0)
        return 11;
    snprintf(next, sizeof next, "%d", left - 1);
    char *arguments[] = {argv[0], next, NULL};
    if (left % 2) {
        pid_t child;
        int status;
        NEED(!posix_spawn(&child, argv[0], NULL, NULL, arguments, environ));
        burn(10);
        NEED(waitpid(child, &status, 0) == child && WIFEXITED(status));
        return WEXITSTATUS(status) + 1;
    }
    execv(argv[0], arguments);
    return 97;
}
