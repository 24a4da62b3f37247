/* Coroutines that a timer's handler switches between. It requests an alternate stack, and none is set. */
#include "robust.h"
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

enum { COROUTINES = 4, SWITCHES = 40, BYTES = 256 << 10 };

static ucontext_t at[COROUTINES], home;
static volatile int current, switches, wrong;

static void on_alarm(int number)
{
    int before = current;
    (void)number;
    current = (before + 1) % COROUTINES;
    switches++;
    swapcontext(&at[before], &at[current]);
}

static void run(int me)
{
    volatile long mine[64];
    for (int i = 0; i < 64; i++)
        mine[i] = me * 1000 + i;
    for (long n = 0; switches < SWITCHES; n++)
        if (mine[n & 63] != me * 1000 + (n & 63))
            wrong++;
    setcontext(&home);
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART | SA_ONSTACK};
    struct itimerval often = {{0, 2000}, {0, 2000}}, off = {0};
    sigset_t alarm;
    NEED(!sigaction(SIGALRM, &action, NULL));
    for (int i = 0; i < COROUTINES; i++) {
        NEED(!getcontext(&at[i]));
        at[i].uc_stack.ss_size = BYTES;
        at[i].uc_stack.ss_sp = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        makecontext(&at[i], (void (*)(void))run, 1, i);
    }
    /* Coroutines are preempted, but main is not: its context would overwrite that of a coroutine. */
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    NEED(!sigprocmask(SIG_BLOCK, &alarm, NULL));
    NEED(!setitimer(ITIMER_REAL, &often, NULL));
    volatile int begun = 0;
    NEED(!getcontext(&home));
    if (!begun++)
        setcontext(&at[0]);
    NEED(!setitimer(ITIMER_REAL, &off, NULL));
    printf("wrong %d\n", wrong);
    return wrong != 0;
}
