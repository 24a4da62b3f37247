/* Actions and masks by the names that System V, BSD and XPG gave them, including those for SIGTRAP. */
#include "robust.h"
#include <sys/syscall.h>

typedef void (*handler)(int);
handler __sysv_signal(int, handler);
handler bsd_signal(int, handler);

static volatile int got, last;

static void on_signal(int number)
{
    got++;
    last = number;
}

static struct sigaction now(int number)
{
    struct sigaction had;
    NEED(!sigaction(number, NULL, &had));
    return had;
}

static int blocked(int number)
{
    sigset_t mask;
    NEED(!sigprocmask(SIG_BLOCK, NULL, &mask));
    return sigismember(&mask, number);
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static void each(int number)
{
    int before = got;
    NEED(signal(number, on_signal) == SIG_DFL);
    NEED((now(number).sa_flags & (SA_RESTART | (int)SA_RESETHAND | SA_NODEFER)) == SA_RESTART);
    struct sigaction had = now(number);
    NEED(sigismember(&had.sa_mask, number) == 1);
    raise(number);
    NEED(siginterrupt(number, 1) == 0 && !(now(number).sa_flags & SA_RESTART));
    NEED(bsd_signal(number, on_signal) == on_signal && !(now(number).sa_flags & SA_RESTART));
    NEED(siginterrupt(number, 0) == 0 && now(number).sa_flags & SA_RESTART);
    raise(number);
    NEED(sysv_signal(number, on_signal) == on_signal);
    raise(number);
    NEED(now(number).sa_handler == SIG_DFL);
    NEED(__sysv_signal(number, on_signal) == SIG_DFL);
    raise(number);
    NEED(got == before + 4 && last == number);
    NEED(__sysv_signal(number, SIG_DFL) == SIG_DFL);

    NEED(sigset(number, on_signal) == SIG_DFL && now(number).sa_flags % 0x4000000 == 0);
    NEED(sighold(number) == 0 && blocked(number));
    raise(number);
    NEED(got == before + 4);
    NEED(sigset(number, SIG_HOLD) == SIG_HOLD && blocked(number));
    NEED(sigrelse(number) == 0 && !blocked(number) && got == before + 5);
    NEED(sigset(number, SIG_HOLD) == on_signal && blocked(number));
    NEED(sigset(number, on_signal) == SIG_HOLD && !blocked(number));
    NEED(sigignore(number) == 0 && now(number).sa_handler == SIG_IGN);
    raise(number);
    NEED(signal(number, SIG_DFL) == SIG_IGN);

    int mask = 1 << (number - 1);
    NEED(sigblock(mask) == 0 && blocked(number) && sigblock(0) == mask);
    NEED(sigsetmask(0) == mask && !blocked(number));
    burn(2);
}

static void errors(void)
{
    NEED(signal(65, on_signal) == SIG_ERR && errno == EINVAL);
    NEED(signal(32, on_signal) == SIG_ERR && errno == EINVAL);
    NEED(signal(SIGUSR1, SIG_ERR) == SIG_ERR && errno == EINVAL);
    NEED(signal(SIGKILL, on_signal) == SIG_ERR && errno == EINVAL);
    NEED(sigaction(SIGSTOP, &(struct sigaction){.sa_handler = on_signal}, NULL) == -1 && errno == EINVAL);
    NEED(sighold(65) == -1 && errno == EINVAL && sigset(0, on_signal) == SIG_ERR && errno == EINVAL);
}

/* What a daemon does when it starts again. */
static void reset(void)
{
    for (int number = 1; number < 65; number++)
        __sysv_signal(number, SIG_DFL);
    burn(30);
    printf("reset\n");
    fflush(stdout);
}

int main(void)
{
    reset();
    each(SIGUSR1);
    each(SIGTRAP);
    errors();
    printf("%d\n", got);
    reset();
    raise(SIGTRAP);
    return 0;
}
