/* Waits for signals while all are blocked. */
#include "robust.h"
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

static volatile int handled, taken;

static void on_usr1(int number)
{
    NEED(number == SIGUSR1);
    burn(5);
    handled++;
}

static void *wait_for(void *unused)
{
    sigset_t all;
    int number;
    sigfillset(&all);
    for (int i = 0; i < 20; i++) {
        burn(2);
        NEED(!sigwait(&all, &number) && number == SIGUSR2);
        taken++;
    }
    return unused;
}

int main(void)
{
    sigset_t all, but_usr1;
    pthread_t thread;
    struct timespec moment = {0, 1000000};

    sigfillset(&all);
    but_usr1 = all;
    sigdelset(&but_usr1, SIGUSR1);
    signal(SIGUSR1, on_usr1);
    NEED(!sigprocmask(SIG_SETMASK, &all, NULL));

    NEED(!pthread_create(&thread, NULL, wait_for, NULL));
    for (int i = 0; i < 20; i++) {
        pthread_kill(thread, SIGUSR2);
        sigset_t pending;
        burn(3);
        NEED(!sigpending(&pending) && !sigismember(&pending, SIGTRAP));
        while (taken <= i)
            nanosleep(&moment, NULL);
    }
    pthread_join(thread, NULL);
    printf("sigwait\n");

    for (int i = 0; i < 20; i++) {
        burn(2);
        raise(SIGUSR1);
        NEED(handled == i);
        NEED(sigsuspend(&but_usr1) == -1 && errno == EINTR);
        NEED(handled == i + 1);
    }
    printf("sigsuspend\n");

    int epoll = epoll_create1(0);
    struct epoll_event event;
    fd_set nobody;
    FD_ZERO(&nobody);
    for (int i = 0; i < 20; i++) {
        burn(2);
        NEED(ppoll(NULL, 0, &moment, &all) == 0);
        NEED(pselect(0, &nobody, NULL, NULL, &moment, &all) == 0);
        NEED(epoll_pwait(epoll, &event, 1, 1, &all) == 0);
        raise(SIGUSR1);
        NEED(ppoll(NULL, 0, NULL, &but_usr1) == -1 && errno == EINTR);
    }
    NEED(handled == 40);
    printf("polls\n");

    sigset_t trap, old;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    siginfo_t info;
    NEED(sigtimedwait(&trap, &info, &moment) == -1 && errno == EAGAIN);
    raise(SIGTRAP);
    NEED(!sigpending(&old) && sigismember(&old, SIGTRAP));
    NEED(sigtimedwait(&trap, &info, &moment) == SIGTRAP);
    printf("own trap, blocked\n");
    return 0;
}
