/* Threads with the smallest possible stacks fork, execute programs, create threads, load libraries, handle signals and
 * end the process; a handler on the smallest alternate stack does so too. */
#include "robust.h"
#include <dlfcn.h>
#include <limits.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;
static char **arguments;

static void expect(pid_t child, int wanted)
{
    int status;
    NEED(child > 0 && waitpid(child, &status, 0) == child);
    NEED(WIFEXITED(status) && WEXITSTATUS(status) == wanted);
}

static void on_signal(int signal)
{
    robust_sink += (unsigned long)signal;
}

static void *nothing(void *unused)
{
    return unused;
}

/* Touches memory, so that the thread has something to record. */
static void touch(void)
{
    static volatile char memory[1 << 16];
    for (int i = 0; i < 1 << 16; i += 64)
        memory[i]++;
}

static void start(void *(*routine)(void *), void *argument)
{
    pthread_attr_t attributes;
    pthread_t thread;
    NEED(!pthread_attr_init(&attributes));
    NEED(!pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN));
    NEED(!pthread_create(&thread, &attributes, routine, argument));
    NEED(!pthread_join(thread, NULL));
}

static void *processes(void *unused)
{
    touch();
    pid_t child = fork();
    if (child == 0)
        _exit(3);
    expect(child, 3);
    child = fork();
    if (child == 0) {
        char *words[] = {arguments[0], "leave", NULL};
        execv("/proc/self/exe", words);
        _exit(9);
    }
    expect(child, 4);
    char *words[] = {arguments[0], "leave", NULL};
    NEED(!posix_spawn(&child, "/proc/self/exe", NULL, NULL, words, environ));
    expect(child, 4);
    return unused;
}

static void *others(void *unused)
{
    touch();
    NEED(!raise(SIGUSR1));
    start(nothing, NULL);
    return unused;
}

static void *ends(void *unused)
{
    touch();
    exit(5);
    return unused;
}

static void leave(int signal)
{
    _exit(signal == SIGUSR2 ? 6 : 9);
}

/* Enough for the kernel's frame and a few calls. */
static void leaves_on_small_stack(void)
{
    static char memory[8192];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    struct sigaction action = {.sa_handler = leave, .sa_flags = SA_ONSTACK};
    touch();
    NEED(!sigaltstack(&stack, NULL) && !sigaction(SIGUSR2, &action, NULL));
    raise(SIGUSR2);
}

int main(int count, char **words)
{
    arguments = words;
    if (count > 1)
        return 4;
    struct sigaction action = {.sa_handler = on_signal};
    NEED(!sigaction(SIGUSR1, &action, NULL));
    start(processes, NULL);
    start(others, NULL);
    pid_t child = fork();
    if (child == 0) {
        start(ends, NULL);
        _exit(9);
    }
    expect(child, 5);
    child = fork();
    if (child == 0)
        leaves_on_small_stack();
    expect(child, 6);
    printf("small stacks will do\n");
    return 0;
}
