/* Counts per processor in restartable sequences (rseq(2)) that are long enough to be interrupted often: no increment is lost,
 * and no signal arrives inside of one. The output is the same where there are none. */
#include "robust.h"
#include <sched.h>
#include <sys/time.h>

#if defined(__x86_64__) && __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#define ROUNDS 2000
#define THREADS 4

static struct {
    volatile long value;
    long others[15];
} counters[1024] __attribute__((aligned(128)));
static volatile int inside;

extern char sequence_start[], sequence_end[];

/* noinline: one copy, whose addresses the handler knows. */
__attribute__((noinline)) static int increment(struct rseq *area)
{
    __asm__ goto(".pushsection __rseq_cs, \"aw\"\n"
                 ".balign 32\n"
                 "3: .long 0, 0\n"
                 ".quad 1f, 2f - 1f, 4f\n"
                 ".popsection\n"
                 "lea 3b(%%rip), %%rax\n"
                 "mov %%rax, 8(%0)\n"
                 ".globl sequence_start\n"
                 "sequence_start:\n"
                 "1: mov 4(%0), %%ecx\n"
                 "shl $7, %%rcx\n"
                 "add %1, %%rcx\n"
                 "mov (%%rcx), %%rdx\n"
                 "mov $20000, %%eax\n"
                 "5: dec %%eax\n"
                 "jnz 5b\n"
                 "inc %%rdx\n"
                 "mov %%rdx, (%%rcx)\n"
                 ".globl sequence_end\n"
                 "sequence_end:\n"
                 "2:\n"
                 ".pushsection .text.unlikely, \"ax\"\n"
                 ".byte 0x0f, 0xb9, 0x3d\n"
                 ".long 0x53053053\n"
                 "4: jmp %l[aborted]\n"
                 ".popsection\n"
                 :
                 : "r"(area), "r"(counters)
                 : "rax", "rcx", "rdx", "memory", "cc"
                 : aborted);
    return 0;
aborted:
    return -1;
}

static void tick(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    char *at = (char *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    inside += at >= sequence_start && at < sequence_end;
}

static void *work(void *unused)
{
    struct rseq *area = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
    for (int i = 0; i < ROUNDS; i++)
        while (increment(area)) {}
    return unused;
}

static long count(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    NEED(sched_setaffinity(0, sizeof one, &one) == 0);
    struct sigaction action = {.sa_sigaction = tick, .sa_flags = SA_SIGINFO | SA_RESTART};
    NEED(sigaction(SIGALRM, &action, NULL) == 0);
    struct itimerval often = {{0, 700}, {0, 700}}, never = {0};
    NEED(setitimer(ITIMER_REAL, &often, NULL) == 0);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        NEED(pthread_create(&threads[i], NULL, work, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        NEED(pthread_join(threads[i], NULL) == 0);
    NEED(setitimer(ITIMER_REAL, &never, NULL) == 0);
    long sum = 0;
    for (int i = 0; i < 1024; i++)
        sum += counters[i].value;
    return THREADS * ROUNDS - sum;
}
#endif

int main(void)
{
    long lost = 0;
    int seen = 0;
#ifdef ROUNDS
    if (__rseq_size != 0) {
        lost = count();
        seen = inside;
    }
#endif
    printf("%ld lost, %d signals inside\n", lost, seen);
    return lost != 0 || seen != 0;
}
