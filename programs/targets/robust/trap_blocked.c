/* A blocked SIGTRAP stays blocked in the programs that are executed from here: by every function of the C library, and,
 * with an argument, by a system call. */
#include "robust.h"
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern char **environ;

static void show(const char *how)
{
    sigset_t mask;
    NEED(!sigprocmask(SIG_BLOCK, NULL, &mask));
    printf("%s: TRAP %d USR1 %d\n", how, sigismember(&mask, SIGTRAP), sigismember(&mask, SIGUSR1));
    fflush(stdout);
}

int main(int count, char **arguments)
{
    sigset_t mask;
    int status;
    char *self = "/proc/self/exe";
    if (count > 2) {
        show(arguments[2]);
        burn(10);
        return 0;
    }
    sigemptyset(&mask);
    sigaddset(&mask, SIGTRAP);
    sigaddset(&mask, SIGUSR1);
    NEED(!sigprocmask(SIG_SETMASK, &mask, NULL));
    NEED(execl("/nowhere", "nowhere", NULL) == -1 && errno == ENOENT);
    show("failed");
    for (int how = 0; how < 5; how++) {
        char *names[] = {"execv", "execve", "vfork", "spawn", "spawn with a mask"};
        char *const given[] = {self, "shows", names[how], NULL};
        pid_t child;
        if (how == 2)
            child = vfork();
        else if (how < 2)
            child = fork();
        else {
            posix_spawnattr_t attributes;
            sigset_t other;
            sigemptyset(&other);
            NEED(!posix_spawnattr_init(&attributes) && !posix_spawnattr_setsigmask(&attributes, &other));
            NEED(!posix_spawnattr_setflags(&attributes, how == 4 ? POSIX_SPAWN_SETSIGMASK : 0));
            NEED(!posix_spawn(&child, self, NULL, &attributes, given, environ));
        }
        if (!child) {
            if (how == 1 && count > 1)
                syscall(SYS_execve, self, given, environ);
            execv(self, given);
            _exit(1);
        }
        NEED(waitpid(child, &status, 0) == child && status == 0);
    }
    show("after");
    NEED(!sigprocmask(SIG_UNBLOCK, &mask, NULL));
    show("released");
    burn(30);
    return 0;
}
