// Children that the agent does not follow: `raw` and `copy` by clone, `vfork` and `shared` with their parent's memory, and
// `by_hand`, which calls what was registered for children of fork, as Firefox does. Each asks for the handlers that it has inherited,
// sets one that calls its predecessor, and asks for its alternate stack. Ends with 0 where all that is the program's own.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void (*registered[16])(void);
static int count;

// Instead of the C library's, which pthread_atfork calls.
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso) {
    (void)prepare, (void)parent, (void)dso;
    if (child && count < 16) registered[count++] = child;
    return 0;
}

static volatile int seen;
static struct sigaction before;

static void first(int signal, siginfo_t *info, void *context) {
    (void)context;
    seen += info->si_signo == signal ? 1 : 100;
}

static void second(int signal, siginfo_t *info, void *context) {
    seen += 10;
    before.sa_sigaction(signal, info, context);
}

static int wrong(void) {
    int (*unseen)(int, const struct sigaction *, struct sigaction *) = dlsym(RTLD_NEXT, "sigaction");
    struct sigaction action, old;
    stack_t stack;
    int wrong = 0;
    sigaction(SIGUSR1, 0, &before);
    if (before.sa_sigaction != first) wrong |= 1;
    sigaction(SIGTRAP, 0, &old);
    if (old.sa_handler != SIG_DFL) wrong |= 2;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = second;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR1, &action, &old);
    if (old.sa_sigaction != first) wrong |= 4;
    unseen(SIGUSR1, 0, &old);
    if (old.sa_sigaction != second) wrong |= 8;
    raise(SIGUSR1);
    if (seen != 11) wrong |= 16;
    sigaltstack(0, &stack);
    if (!(stack.ss_flags & SS_DISABLE)) wrong |= 32;
    return wrong;
}

static int child(void *unused) {
    (void)unused;
    _exit(wrong());
}

int main(int argc, char **argv) {
    static char stack[1 << 16];
    const char *kind = argc > 1 ? argv[1] : "";
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = first;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR1, &action, 0);
    pid_t process = -1;
    if (!strcmp(kind, "raw") || !strcmp(kind, "by_hand")) {
        process = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        for (int i = 0; process == 0 && *kind == 'b' && i < count; i++) registered[i]();
    } else if (!strcmp(kind, "vfork")) {
        process = vfork();
    } else {
        process = clone(child, stack + sizeof stack, SIGCHLD | (*kind == 's' ? CLONE_VM : 0), 0);
    }
    if (process == 0) _exit(wrong());
    int status = -1;
    waitpid(process, &status, 0);
    printf("%s %x\n", kind, status);
    return status != 0;
}
