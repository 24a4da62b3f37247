/* Handlers that run when their signal is unblocked, or that jump out of the call that unblocked it: counted like other code. */
#include "robust.h"
#include <setjmp.h>

static sigjmp_buf out;

/* 6 instructions a round. */
static void rounds(long count)
{
    __asm__ volatile("1: nop; nop; nop; nop; decq %0; jnz 1b" : "+r"(count)::"cc");
}

static void on_usr1(int number)
{
    (void)number;
    rounds(1000000);
}

static void on_usr2(int number)
{
    siglongjmp(out, number);
}

static void release(int way, int number)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    if (way == 0)
        sigprocmask(SIG_UNBLOCK, &one, NULL);
    else if (way == 1)
        pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    else
        sigrelse(number);
}

int main(void)
{
    sigset_t both;
    NEED(signal(SIGUSR1, on_usr1) != SIG_ERR && signal(SIGUSR2, on_usr2) != SIG_ERR);
    sigemptyset(&both);
    sigaddset(&both, SIGUSR1);
    sigaddset(&both, SIGUSR2);
    for (volatile int way = 0; way < 3; way++) {
        NEED(!sigprocmask(SIG_BLOCK, &both, NULL));
        raise(SIGUSR1);
        raise(SIGUSR2);
        release(way, SIGUSR1);
        if (!sigsetjmp(out, 0)) {
            release(way, SIGUSR2);
            NEED(0);
        }
        rounds(1000000);
    }
    return 0;
}
