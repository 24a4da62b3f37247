/* A handler that ends a wait runs with the mask of that wait, and the previous mask is restored. */
#include "robust.h"
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>

static volatile int seen;

/* SIGUSR2 is blocked by the wait, SIGWINCH before and behind it, SIGUSR1 by its own handler. */
static void look(int number)
{
    sigset_t mask;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    seen = sigismember(&mask, SIGUSR1) | sigismember(&mask, SIGUSR2) << 1 | sigismember(&mask, SIGWINCH) << 2;
    (void)number;
}

static void show(const char *name, long result, int interrupted)
{
    sigset_t mask;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    printf("%s: %ld, %s, in the handler %d, behind it %d%d%d\n", name, result, interrupted ? "EINTR" : "not interrupted", seen,
           sigismember(&mask, SIGUSR1), sigismember(&mask, SIGUSR2), sigismember(&mask, SIGWINCH));
    seen = 0;
}

#define WAIT(name, call)                                                                                               \
    do {                                                                                                              \
        raise(SIGUSR1);                                                                                               \
        errno = 0;                                                                                                    \
        long result = (call);                                                                                         \
        show(name, result, errno == EINTR);                                                                           \
    } while (0)

int main(void)
{
    signal(SIGUSR1, look);
    sigset_t before, meanwhile;
    sigemptyset(&before);
    sigaddset(&before, SIGUSR1);
    sigaddset(&before, SIGWINCH);
    sigemptyset(&meanwhile);
    sigaddset(&meanwhile, SIGUSR2);
    sigprocmask(SIG_SETMASK, &before, NULL);
    struct timespec second = {1, 0};
    struct epoll_event event;
    int epoll = epoll_create1(0);
    struct {
        const sigset_t *mask;
        size_t bytes;
    } sixth = {&meanwhile, 8};
    for (int i = 0; i < 3; i++) {
        WAIT("sigsuspend", sigsuspend(&meanwhile));
        WAIT("ppoll", ppoll(NULL, 0, &second, &meanwhile));
        WAIT("pselect", pselect(0, NULL, NULL, NULL, &second, &meanwhile));
        WAIT("pselect6", syscall(SYS_pselect6, 0, NULL, NULL, NULL, &second, &sixth));
        WAIT("epoll_pwait", epoll_pwait(epoll, &event, 1, 1000, &meanwhile));
        WAIT("epoll_pwait2", syscall(441, epoll, &event, 1, &second, &meanwhile, 8));
        /* No mask of its own. */
        sigprocmask(SIG_UNBLOCK, &before, NULL);
        WAIT("none", syscall(SYS_ppoll, NULL, 0, NULL, &meanwhile, 7));
        sigprocmask(SIG_SETMASK, &before, NULL);
    }
    burn(10);
    return 0;
}
