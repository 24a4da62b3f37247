/* Signal masks are read back as they were set, by every way of setting and reading them. */
#include "robust.h"

static sigset_t all, some, empty;

static int same(const sigset_t *a, const sigset_t *b)
{
    for (int number = 1; number <= SIGRTMAX; number++)
        /* The C library reserves these two. */
        if (number != SIGKILL && number != SIGSTOP && number != 32 && number != 33
            && sigismember(a, number) != sigismember(b, number)) {
            fprintf(stderr, "signal %d\n", number);
            return 0;
        }
    return 1;
}

static void have(const sigset_t *mask)
{
    sigset_t now;
    NEED(!pthread_sigmask(SIG_SETMASK, NULL, &now) && same(&now, mask));
    NEED(!sigprocmask(SIG_BLOCK, NULL, &now) && same(&now, mask));
}

static void *child(void *mask)
{
    have(mask);
    burn(10);
    have(mask);
    return NULL;
}

static void in_thread(sigset_t *mask)
{
    pthread_t thread;
    NEED(!pthread_create(&thread, NULL, child, mask) && !pthread_join(thread, NULL));
}

static volatile int handled;

static void on_usr1(int number)
{
    sigset_t now;
    NEED(number == SIGUSR1);
    NEED(!pthread_sigmask(SIG_SETMASK, NULL, &now) && sigismember(&now, SIGUSR2) && sigismember(&now, SIGINT));
    burn(10);
    handled++;
}

int main(void)
{
    sigset_t old;
    sigfillset(&all);
    sigemptyset(&empty);
    sigemptyset(&some);
    sigaddset(&some, SIGTRAP);
    sigaddset(&some, SIGUSR2);

    have(&empty);
    for (int i = 0; i < 30; i++) {
        NEED(!pthread_sigmask(SIG_BLOCK, &all, &old) && same(&old, &empty));
        burn(1);
        have(&all);
        NEED(!sigprocmask(SIG_SETMASK, &some, &old) && same(&old, &all));
        burn(1);
        have(&some);
        NEED(!sigprocmask(SIG_UNBLOCK, &some, &old) && same(&old, &some));
        burn(1);
        have(&empty);
    }
    printf("masks\n");

    NEED(!sigprocmask(SIG_SETMASK, &all, NULL));
    in_thread(&all);
    NEED(!sigprocmask(SIG_SETMASK, &some, NULL));
    in_thread(&some);
    NEED(!sigprocmask(SIG_SETMASK, &empty, NULL));
    in_thread(&empty);
    printf("inherited\n");

    struct sigaction wish = {.sa_handler = on_usr1, .sa_mask = all}, had;
    NEED(!sigaction(SIGUSR1, &wish, NULL));
    NEED(!sigaction(SIGUSR1, NULL, &had) && same(&had.sa_mask, &all));
    for (int i = 0; i < 5; i++) {
        burn(2);
        raise(SIGUSR1);
        have(&empty);
    }
    printf("handled %d\n", handled);
    return 0;
}
