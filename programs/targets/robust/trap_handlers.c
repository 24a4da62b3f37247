/* SIGTRAP handlers of its own get every trap that the program causes, and no other. */
#include "robust.h"
#include <setjmp.h>
#include <ucontext.h>

static volatile int plain, detailed, last_code;
static sigjmp_buf out;

static void on_plain(int number)
{
    NEED(number == SIGTRAP);
    plain++;
}

static void on_detailed(int number, siginfo_t *info, void *context)
{
    NEED(number == SIGTRAP && context != NULL);
    last_code = info->si_code;
    detailed++;
}

static void on_jump(int number)
{
    siglongjmp(out, number);
}

static void set(void (*handler)(int), void (*action)(int, siginfo_t *, void *), int flags)
{
    struct sigaction wish = {0}, had;
    if (action) {
        wish.sa_sigaction = action;
        flags |= SA_SIGINFO;
    } else {
        wish.sa_handler = handler;
    }
    wish.sa_flags = flags;
    sigemptyset(&wish.sa_mask);
    sigaddset(&wish.sa_mask, SIGUSR1);
    NEED(!sigaction(SIGTRAP, &wish, NULL));
    NEED(!sigaction(SIGTRAP, NULL, &had));
    NEED(action ? had.sa_sigaction == action : had.sa_handler == handler);
    NEED((had.sa_flags & (SA_SIGINFO | SA_RESTART | SA_RESETHAND | SA_NODEFER)) == flags);
    NEED(sigismember(&had.sa_mask, SIGUSR1) == 1 && sigismember(&had.sa_mask, SIGUSR2) == 0);
}

static void *trap_in_thread(void *unused)
{
    for (int i = 0; i < 50; i++) {
        burn(1);
        raise(SIGTRAP);
        __asm__ volatile("int3");
    }
    return unused;
}

static void traps(int count)
{
    for (int i = 0; i < count; i++) {
        burn(1);
        raise(SIGTRAP);
        __asm__ volatile("int3");
    }
}

int main(void)
{
    struct sigaction before;
    pthread_t thread;

    NEED(!sigaction(SIGTRAP, NULL, &before) && before.sa_handler == SIG_DFL);
    set(on_plain, NULL, 0);
    traps(50);
    printf("plain %d\n", plain);

    set(NULL, on_detailed, 0);
    traps(50);
    printf("detailed %d\n", detailed);
    NEED(last_code == SI_KERNEL);
    raise(SIGTRAP);
    NEED(last_code == SI_TKILL);

    NEED(!pthread_create(&thread, NULL, trap_in_thread, NULL));
    burn(50);
    pthread_join(thread, NULL);
    printf("with a thread %d\n", detailed);

    NEED(signal(SIGTRAP, on_plain) != SIG_ERR);
    plain = 0;
    traps(20);
    printf("by signal() %d\n", plain);

    set(SIG_IGN, NULL, 0);
    raise(SIGTRAP);
    burn(20);
    printf("ignored\n");

    set(on_jump, NULL, 0);
    volatile int jumps = 0;
    for (volatile int i = 0; i < 50; i++) {
        if (sigsetjmp(out, 1) == SIGTRAP) {
            jumps++;
            continue;
        }
        burn(1);
        raise(SIGTRAP);
    }
    printf("jumped %d\n", jumps);

    set(on_plain, NULL, SA_RESETHAND);
    raise(SIGTRAP);
    NEED(!sigaction(SIGTRAP, NULL, &before) && before.sa_handler == SIG_DFL);
    burn(20);
    printf("once\n");
    return 0;
}
