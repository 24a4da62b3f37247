/* looked_into HOW: has its system calls delivered as signals, forbids itself to read the time, or traces a child. */
#include "robust.h"
#include <dlfcn.h>
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

/* The code of the library that holds this address. */
static void code_around(uintptr_t address, uintptr_t *start, uintptr_t *end)
{
    char line[512], rights[8];
    FILE *maps = fopen("/proc/self/maps", "r");
    NEED(maps);
    do
        NEED(fgets(line, sizeof line, maps) && sscanf(line, "%lx-%lx %4s", start, end, rights) == 3);
    while (address < *start || address >= *end);
    fclose(maps);
    NEED(strchr(rights, 'x'));
}

/* System calls of the C library are let through, as Wine does for the host's. */
static void in_dispatch_elsewhere(void)
{
    uintptr_t start, end;
    /* A function that no library interposes. */
    code_around((uintptr_t)dlsym(RTLD_DEFAULT, "getppid"), &start, &end);
    handle(SIGSYS, on_call);
    pid_t parent = getppid();
    NEED(!prctl(SET_DISPATCH, DISPATCH_ON, start, end - start, &dispatched));
    for (int i = 0; i < 1000; i++) {
        long result;
        dispatched = 1;
        NEED(syscall(SYS_getppid) == parent && getppid() == parent);
        __asm__ volatile("syscall" : "=a"(result) : "0"((long)SYS_getppid) : "rcx", "r11", "memory");
        NEED(result == 12345);
    }
    printf("%ld calls from elsewhere\n", calls);
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
    else if (!strcmp(argv[1], "elsewhere"))
        in_dispatch_elsewhere();
    else if (!strcmp(argv[1], "tsc"))
        without_time();
    else
        traced();
    work();
    return 0;
}
