/* Sets the trap flag itself, from its own code and from a handler, in two threads. The steps are the same as natively, also
 * over system calls and `pushf`. */
#include "robust.h"
#include <sys/syscall.h>
#include <ucontext.h>

static volatile long steps, most;
/* Of all places that were stepped in `work`. */
static volatile uint64_t places;

__attribute__((noinline, aligned(4096))) static long work(long rounds) {
    long sum = 0, words[2] = {0};
    for (long i = 0; i < rounds; i++) {
        sum += i * i;
        /* What follows `rdtsc` is found by stepping only. */
        __asm__ volatile("rdtsc; and $8, %%eax; mov (%0, %%rax), %%rax; pushf; popf"
                         :: "r"(words) : "rax", "rdx", "memory", "cc");
    }
    return sum;
}

static void stepped(int signal, siginfo_t *info, void *context) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    uint64_t at = registers[REG_RIP] - (uintptr_t)work;
    if (at < 4096) places = places * 31 + at;
    if (++steps >= most) registers[REG_EFL] &= ~0x100;
}

static void begin(int signal, siginfo_t *info, void *context) {
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] |= 0x100;
}

/* Whether a parent was found while the calling thread stepped through that. */
__attribute__((noinline)) static long step_itself(long *sum) {
    steps = places = 0, most = 1L << 30;
    __asm__ volatile("pushf; orl $0x100, (%%rsp); popf" ::: "memory", "cc");
    *sum = work(50);
    long parent = syscall(SYS_getppid);
    __asm__ volatile("pushf; andl $~0x100, (%%rsp); popf" ::: "memory", "cc");
    return parent > 0;
}

static void *itself(void *unused) {
    long sum, found = step_itself(&sum);
    printf("%ld, %s, steps at %016lx\n", sum, found ? "a parent" : "none", places);
    /* Often enough for samples to meet the steps. */
    uint64_t first = places;
    long same = 0;
    for (int times = 0; times < 20; times++) same += step_itself(&sum) && places == first;
    printf("%ld times the same\n", same);
    return NULL;
}

int main(void) {
    struct sigaction step = {.sa_sigaction = stepped, .sa_flags = SA_SIGINFO};
    struct sigaction user = {.sa_sigaction = begin, .sa_flags = SA_SIGINFO};
    NEED(!sigaction(SIGTRAP, &step, NULL) && !sigaction(SIGUSR1, &user, NULL));
    itself(NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, itself, NULL);
    pthread_join(thread, NULL);
    for (int times = 0; times < 3; times++) {
        steps = 0, most = 1000;
        raise(SIGUSR1);
        long sum = work(1000000);
        printf("%ld after %ld steps\n", sum, steps);
    }
    burn(10);
    return 0;
}
