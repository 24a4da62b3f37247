/* Threads that block SIGTRAP, are sent it meanwhile, and take it as they unblock it. */
#include "robust.h"
#include <pthread.h>

enum { THREADS = 400 };

static volatile sig_atomic_t got;

static void on_trap(int number)
{
    got += number == SIGTRAP;
}

static void *hold(void *unused)
{
    sigset_t trap, waiting;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    burn(1);
    int before = got;
    NEED(!pthread_sigmask(SIG_BLOCK, &trap, NULL));
    NEED(!raise(SIGTRAP) && got == before);
    NEED(!sigpending(&waiting) && sigismember(&waiting, SIGTRAP) == 1);
    NEED(!pthread_sigmask(SIG_UNBLOCK, &trap, NULL));
    NEED(got == before + 1);
    return unused;
}

int main(void)
{
    NEED(signal(SIGTRAP, on_trap) == SIG_DFL);
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        NEED(!pthread_create(&thread, NULL, hold, NULL));
        pthread_join(thread, NULL);
    }
    printf("%d\n", got);
    return 0;
}
