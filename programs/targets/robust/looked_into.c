/* looked_into HOW: has its system calls delivered as signals, forbids itself to read the time, or has itself traced. */
#include "robust.h"
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>

/* Linux, include/uapi/linux/prctl.h. */
#define SET_DISPATCH 59
#define DISPATCH_ON 1

static volatile char dispatched;
static volatile long calls, faults;

static void on_call(int number, siginfo_t *info, void *context)
{
    dispatched = 0; /* SYSCALL_DISPATCH_FILTER_ALLOW */
    calls++;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = 12345;
    (void)number, (void)info;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    /* rdtsc: two bytes. */
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
    faults++;
    (void)number, (void)info;
}

static void handle(int number, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    NEED(!sigaction(number, &action, NULL));
}

static void in_dispatch(void)
{
    handle(SIGSYS, on_call);
    NEED(!prctl(SET_DISPATCH, DISPATCH_ON, 0, 0, &dispatched));
    for (int i = 0; i < 1000; i++) {
        dispatched = 1; /* SYSCALL_DISPATCH_FILTER_BLOCK */
        NEED(syscall(SYS_getppid) == 12345);
    }
    printf("%ld calls\n", calls);
}

static void without_time(void)
{
    handle(SIGSEGV, on_fault);
    NEED(!prctl(PR_SET_TSC, PR_TSC_SIGSEGV));
    for (int i = 0; i < 1000; i++)
        __asm__ volatile("rdtsc" ::: "eax", "edx");
    printf("%ld faults\n", faults);
}

__attribute__((noinline, aligned(4096))) static void work(void)
{
    for (long i = 0; i < 10000000; i++)
        robust_sink += (unsigned long)i;
}

/* Registers and addresses that a tracer finds are the program's. */
static void traced(void)
{
    pid_t child = fork();
    NEED(child >= 0);
    if (!child) {
        NEED(!ptrace(PTRACE_TRACEME, 0, NULL, NULL));
        raise(SIGSTOP);
        work();
        _exit(7);
    }
    int status;
    struct user_regs_struct registers;
    NEED(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
    NEED(!ptrace(PTRACE_GETREGS, child, NULL, &registers));
    NEED(registers.gs_base == 0);
    long inside = 0;
    for (int i = 0; i < 3000; i++) {
        NEED(!ptrace(PTRACE_SINGLESTEP, child, NULL, NULL));
        NEED(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
        NEED(!ptrace(PTRACE_GETREGS, child, NULL, &registers));
        inside += registers.rip - (uintptr_t)work < 4096;
    }
    printf("traced: %s\n", inside > 1000 ? "in its own code" : "elsewhere");
    NEED(!ptrace(PTRACE_DETACH, child, NULL, NULL));
    NEED(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

int main(int argc, char **argv)
{
    NEED(argc == 2);
    burn(10);
    if (!strcmp(argv[1], "dispatch"))
        in_dispatch();
    else if (!strcmp(argv[1], "tsc"))
        without_time();
    else
        traced();
    work();
    return 0;
}
