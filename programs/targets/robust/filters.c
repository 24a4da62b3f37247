/* filters HOW: installs a seccomp filter as a sandbox does, and continues under it with threads, handlers and memory. A
 * system call that is not allowed kills the process. */
#include "robust.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#define ALLOW(call)                                                                                                    \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define KILL(call)                                                                                                     \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define LOAD_NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))

/* What a program like this one needs itself, and nothing else. */
static struct sock_filter few[] = {
    LOAD_NUMBER,           ALLOW(brk),        ALLOW(close),         ALLOW(exit),        ALLOW(exit_group),
    ALLOW(fstat),          ALLOW(futex),      ALLOW(madvise),       ALLOW(mmap),        ALLOW(munmap),
    ALLOW(newfstatat),     ALLOW(read),       ALLOW(rt_sigreturn),  ALLOW(write),       ALLOW(setitimer),
    ALLOW(clock_gettime),  ALLOW(getrandom),  ALLOW(mprotect),      ALLOW(rt_sigprocmask),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

/* What this program and one that it executes need. */
static struct sock_filter many[] = {
    LOAD_NUMBER, KILL(perf_event_open), KILL(memfd_create), KILL(process_vm_readv), KILL(timer_create),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

/* What no program needs. */
static struct sock_filter most[] = {
    LOAD_NUMBER, KILL(mount), KILL(ptrace), KILL(kexec_load), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static volatile int alarms;
static void on_alarm(int number) { alarms += number == SIGALRM; }

static void install(struct sock_filter *filter, size_t bytes, unsigned flags)
{
    struct sock_fprog program = { bytes / sizeof *filter, filter };
    NEED(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    if (flags)
        NEED(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program));
    else
        NEED(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

static void work(void)
{
    for (int i = 0; i < 200; i++) {
        char *block = malloc(300000);
        NEED(block);
        memset(block, i, 300000);
        free(block);
        for (int j = 0; j < 300000; j++)
            robust_sink += (unsigned long)j;
    }
}

static volatile int go, begun[2];
static void *worker(void *number)
{
    *(volatile int *)number = 1;
    while (!go)
        robust_sink++;
    work();
    return number;
}

static void in_threads(int all)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        NEED(!pthread_create(&threads[i], NULL, worker, (void *)&begun[i]));
    /* The system calls that the C library makes when a thread begins are not allowed. */
    while (!begun[0] || !begun[1])
        burn(1);
    burn(20);
    install(few, sizeof few, all ? SECCOMP_FILTER_FLAG_TSYNC : 0);
    go = 1;
    work();
    for (int i = 0; i < 2; i++)
        NEED(!pthread_join(threads[i], NULL));
}

static void in_handler(void)
{
    struct itimerval often = { { 0, 2000 }, { 0, 2000 } }, never = { { 0, 0 }, { 0, 0 } };
    NEED(signal(SIGALRM, on_alarm) != SIG_ERR);
    NEED(!setitimer(ITIMER_REAL, &often, NULL));
    install(few, sizeof few, 0);
    while (alarms < 20)
        work();
    NEED(!setitimer(ITIMER_REAL, &never, NULL));
}

static void in_child(char *program)
{
    pid_t child = fork();
    NEED(child >= 0);
    if (!child) {
        install(many, sizeof many, 0);
        execl(program, program, "plain", (char *)NULL);
        _exit(98);
    }
    int status;
    NEED(waitpid(child, &status, 0) == child);
    NEED(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A process of one thread has nobody to wait for, whatever the filter forbids. */
static void alone(void)
{
    pid_t child = fork();
    NEED(child >= 0);
    if (!child) {
        install(few, sizeof few, 0);
        work();
        _exit(0);
    }
    int status;
    struct rusage used;
    NEED(wait4(child, &status, 0, &used) == child);
    NEED(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    NEED(used.ru_nvcsw < 5000);
}

int main(int argc, char **argv)
{
    NEED(argc == 2);
    char *how = argv[1];
    burn(10);
    if (!strcmp(how, "few"))
        install(few, sizeof few, 0);
    else if (!strcmp(how, "most"))
        install(most, sizeof most, 0);
    else if (!strcmp(how, "none")) {
        NEED(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) && errno == EFAULT);
        NEED(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL) && errno == EINVAL);
    }
    else if (!strcmp(how, "threads"))
        in_threads(0);
    else if (!strcmp(how, "all-threads"))
        in_threads(1);
    else if (!strcmp(how, "handler"))
        in_handler();
    else if (!strcmp(how, "child"))
        in_child(argv[0]);
    else if (!strcmp(how, "alone"))
        alone();
    work();
    puts(how);
    if (!strcmp(how, "strict")) {
        fflush(stdout);
        NEED(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT));
        for (int i = 0; i < 30000000; i++)
            robust_sink++;
        syscall(SYS_exit, 0);
    }
    return 0;
}
