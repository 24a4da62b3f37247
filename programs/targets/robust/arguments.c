/* Passes arguments that the kernel refuses, and prints the kernel's answers. */
#include "robust.h"
#include <fcntl.h>
#include <linux/sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define PAGE 4096
/* Longer than a string may be, and longer than a path may be. */
#define LONG (40 * PAGE)

static char *forbidden, *own[] = {"x", NULL};

static void answered(const char *what, int which, long result, int number)
{
    printf("%s %d: %ld, errno %d\n", what, which, result, number);
}

static void programs(void)
{
    char *nowhere = (char *)8, *long_string = malloc(LONG);
    memset(long_string, 'a', LONG);
    long_string[LONG - 1] = 0;
    char *bad[] = {nowhere, NULL}, *too_long[] = {long_string, NULL};
    char **no_array = (char **)forbidden;
    /* An array whose end cannot be read. */
    char **cut = (char **)(forbidden - sizeof(char *));
    cut[0] = "A=1";
    struct {
        char *path, **arguments, **environment;
    } calls[] = {
        {forbidden, own, own},          {NULL, own, own},          {"", own, own},
        {"/%/", own, no_array},         {"/%/", bad, bad},         {"/bin/true", own, no_array},
        {"/bin/true", no_array, own},   {"/bin/true", own, bad},   {"/bin/true", bad, own},
        {"/bin/true", own, cut},        {"/bin/true", cut, own},   {"/bin/true", own, too_long},
        {"/bin/true", too_long, own},   {long_string, own, own},   {"/", own, own},
        {"/bin/true/x", own, no_array},
    };
    for (int i = 0; i < (int)(sizeof calls / sizeof calls[0]); i++) {
        errno = 0;
        long result = execve(calls[i].path, calls[i].arguments, calls[i].environment);
        answered("execve", i, result, errno);
        errno = 0;
        result = syscall(SYS_execve, calls[i].path, calls[i].arguments, calls[i].environment);
        answered("execve by number", i, result, errno);
        errno = 0;
        result = execveat(AT_FDCWD, calls[i].path, calls[i].arguments, calls[i].environment, 0);
        answered("execveat", i, result, errno);
        /* The C library counts the arguments itself. */
        if (calls[i].arguments == no_array || calls[i].arguments == cut)
            continue;
        pid_t child;
        errno = 0;
        result = posix_spawn(&child, calls[i].path, NULL, NULL, calls[i].arguments, calls[i].environment);
        answered("posix_spawn", i, result, errno);
    }
    free(long_string);
}

static void make(int which, struct clone_args *asked, size_t bytes)
{
    fflush(stdout);
    errno = 0;
    long child = syscall(SYS_clone3, asked, bytes);
    if (!child)
        _exit(5);
    int status = -1;
    if (child > 0)
        NEED(waitpid(child, &status, 0) == child);
    printf("clone3 %d: %s, errno %d, status %d\n", which, child > 0 ? "made" : "not made", errno, status);
}

static void children(void)
{
    static char stack[16 * PAGE];
    static struct {
        struct clone_args known;
        char more[PAGE];
    } asked;
    struct clone_args *at_end = (struct clone_args *)(forbidden - sizeof *at_end);
    asked.known.exit_signal = SIGCHLD;
    *at_end = asked.known;
    make(0, &asked.known, sizeof asked.known);
    make(1, at_end, sizeof *at_end);
    make(2, at_end, sizeof *at_end + 1);
    make(3, (struct clone_args *)8, sizeof *at_end);
    make(4, &asked.known, 0);
    make(5, &asked.known, CLONE_ARGS_SIZE_VER0 - 1);
    make(6, &asked.known, CLONE_ARGS_SIZE_VER0);
    make(7, &asked.known, CLONE_ARGS_SIZE_VER0 + 3);
    make(8, &asked.known, PAGE);
    make(9, &asked.known, PAGE + 1);
    asked.more[100] = 1;
    make(10, &asked.known, sizeof asked.known + 100);
    make(11, &asked.known, sizeof asked.known + 101);
    asked.known.stack = (uintptr_t)stack;
    make(12, &asked.known, sizeof asked.known);
    asked.known.stack_size = -1;
    make(13, &asked.known, sizeof asked.known);
    asked.known.stack = 0;
    asked.known.stack_size = 8;
    make(14, &asked.known, sizeof asked.known);
    asked.known.stack_size = 0;
    asked.known.exit_signal = 1000;
    make(15, &asked.known, sizeof asked.known);
}

int main(void)
{
    forbidden = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(forbidden != MAP_FAILED);
    forbidden += PAGE;
    NEED(!mprotect(forbidden, PAGE, PROT_NONE));
    programs();
    children();
    return 0;
}
