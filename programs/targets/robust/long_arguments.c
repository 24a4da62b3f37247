/* How long a program's arguments can be if its environment is empty: found by trial. */
#include "robust.h"
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* The kernel gives arguments a quarter of the stack. */
#define STACK (1 << 20)
/* Each string is shorter than 128 KiB. */
#define STRINGS 4

static int starts(size_t bytes)
{
    static char text[STRINGS][STACK / 8];
    char *arguments[STRINGS + 2] = {"true"}, *nothing[] = {NULL};
    pid_t child;
    for (int i = 0; i < STRINGS; i++) {
        memset(text[i], 'a', bytes / STRINGS);
        text[i][bytes / STRINGS] = 0;
        arguments[i + 1] = text[i];
    }
    int result = posix_spawn(&child, "/bin/true", NULL, NULL, arguments, nothing);
    if (!result) {
        int status;
        NEED(waitpid(child, &status, 0) == child && status == 0);
    }
    NEED(!result || result == E2BIG);
    return !result;
}

int main(void)
{
    struct rlimit limit = {STACK, RLIM_INFINITY};
    size_t good = 0, bad = STACK / 3;
    burn(5);
    NEED(!getrlimit(RLIMIT_STACK, &limit));
    limit.rlim_cur = STACK;
    NEED(!setrlimit(RLIMIT_STACK, &limit));
    while (bad - good > STRINGS) {
        size_t middle = (good + bad) / 2;
        if (starts(middle))
            good = middle;
        else
            bad = middle;
    }
    printf("%zu bytes\n", good / STRINGS * STRINGS);
    return 0;
}
