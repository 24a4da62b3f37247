/* A handler that is installed before main, when no code is translated yet. It finds the interrupted program at its own
 * instruction, and sigaction returns this handler to the program. */
#include "robust.h"
#include <ucontext.h>

extern char __executable_start, etext;
static long readable = 7;

static void handler(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    uintptr_t at = (uintptr_t)registers[REG_RIP];
    NEED(number == SIGSEGV && info != NULL);
    NEED(at >= (uintptr_t)&__executable_start && at < (uintptr_t)&etext);
    registers[REG_RAX] = (greg_t)&readable;
}

__attribute__((constructor)) static void before_main(void)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO}, told;
    NEED(sigaction(SIGSEGV, &action, NULL) == 0);
    NEED(sigaction(SIGSEGV, NULL, &told) == 0 && told.sa_sigaction == handler && told.sa_flags & SA_SIGINFO);
    NEED(signal(SIGUSR1, SIG_IGN) == SIG_DFL && signal(SIGUSR1, SIG_DFL) == SIG_IGN);
}

int main(void)
{
    long value;
    struct sigaction told;
    burn(20);
    __asm__ volatile("mov $8, %%eax\n\tmov (%%rax), %0" : "=r"(value) : : "rax", "memory");
    NEED(sigaction(SIGSEGV, NULL, &told) == 0 && told.sa_sigaction == handler);
    NEED(signal(SIGSEGV, SIG_DFL) == (sighandler_t)(uintptr_t)handler);
    printf("read %ld\n", value);
    return 0;
}
