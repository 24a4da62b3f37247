/* Signals that an instruction raises name the address of that instruction. */
#include "robust.h"
#include <fenv.h>
#include <sys/prctl.h>
#include <ucontext.h>

static volatile int count;

static void on_fault(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    NEED((greg_t)info->si_addr == registers[REG_RIP]);
    /* div ecx, ud2: both have two bytes. */
    NEED(number == SIGFPE || number == SIGILL);
    registers[REG_RIP] += 2;
    count++;
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    NEED(!sigaction(SIGFPE, &action, NULL) && !sigaction(SIGILL, &action, NULL));
    for (int i = 0; i < 1000; i++) {
        __asm__ volatile("ud2");
        __asm__ volatile("xorl %%ecx, %%ecx; movl $1, %%eax; xorl %%edx, %%edx; divl %%ecx" ::: "eax", "ecx", "edx");
    }
    burn(10);
    printf("%d\n", count);
    return 0;
}
