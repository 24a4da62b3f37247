/* A coroutine whose stack lies below its thread's, with a guard page between them; it asks which memory it may read there. */
#include "robust.h"
#include <sys/mman.h>
#include <ucontext.h>

static ucontext_t home, coroutine;
static char *volatile guard;
static volatile long faults;

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)number;
    NEED(info->si_addr == guard);
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 4;
    faults++;
}

static void run(void)
{
    for (long end = thread_ms() + 100; thread_ms() < end;)
        for (int i = 0; i < 1000; i++)
            __asm__ volatile("cmpq $0, (%0)\n je 1f\n nop\n 1:" ::"b"(guard) : "cc");
}

enum { STACK = 1 << 20 };

/* Above it lies the thread's stack. */
static char *memory;

static void *in_thread(void *unused)
{
    guard = memory + STACK / 2;
    NEED(!mprotect(guard, 4096, PROT_NONE));
    NEED(!getcontext(&coroutine));
    coroutine.uc_stack.ss_sp = memory;
    coroutine.uc_stack.ss_size = 256 << 10;
    coroutine.uc_link = &home;
    makecontext(&coroutine, run, 0);
    NEED(!swapcontext(&home, &coroutine));
    return unused;
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    pthread_attr_t attributes;
    pthread_t thread;
    memory = mmap(NULL, 2 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(memory != MAP_FAILED && !sigaction(SIGSEGV, &action, NULL));
    NEED(!pthread_attr_init(&attributes) && !pthread_attr_setstack(&attributes, memory + STACK, STACK));
    NEED(!pthread_create(&thread, &attributes, in_thread, NULL) && !pthread_join(thread, NULL));
    printf("%d\n", faults > 0);
    return 0;
}
