/* Ends in the way that the first argument names, in the middle of computing, while a second thread runs. */
#include "robust.h"

static void *work(void *unused)
{
    for (;;)
        burn(10);
    return unused;
}

static void late(void)
{
    static const char text[] = "exit handlers ran\n";
    NEED(write(1, text, sizeof text - 1) > 0);
}

static void *end_thread(void *how)
{
    burn(20);
    exit(how == NULL);
}

__attribute__((noinline)) static int overflow(int depth)
{
    volatile char page[4096];
    page[0] = (char)depth;
    return overflow(depth + 1) + page[0];
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "return";
    pthread_t other;

    atexit(late);
    at_quick_exit(late);
    printf("buffered text of %s\n", how);
    NEED(!pthread_create(&other, NULL, work, NULL));
    burn(60);
    if (!strcmp(how, "return"))
        return 7;
    if (!strcmp(how, "_exit"))
        _exit(8);
    if (!strcmp(how, "_Exit"))
        _Exit(9);
    if (!strcmp(how, "quick_exit"))
        quick_exit(10);
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "segv"))
        *(volatile int *)8 = 1;
    if (!strcmp(how, "overflow"))
        return overflow(0);
    if (!strcmp(how, "kill"))
        kill(getpid(), SIGKILL);
    if (!strcmp(how, "term"))
        raise(SIGTERM);
    if (!strcmp(how, "trap"))
        raise(SIGTRAP);
    if (!strcmp(how, "trap-process"))
        kill(getpid(), SIGTRAP);
    if (!strcmp(how, "int3"))
        __asm__ volatile("int3");
    if (!strcmp(how, "int3-ignored")) {
        signal(SIGTRAP, SIG_IGN);
        raise(SIGTRAP);
        __asm__ volatile("int3");
    }
    if (!strcmp(how, "exit-in-thread")) {
        NEED(!pthread_create(&other, NULL, end_thread, NULL));
        pause();
    }
    if (!strcmp(how, "main-leaves")) {
        NEED(!pthread_create(&other, NULL, end_thread, NULL));
        pthread_exit(NULL);
    }
    return 98;
}
