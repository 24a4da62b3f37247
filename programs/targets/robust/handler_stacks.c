/* Handlers run on the same stack as without carom, whichever it is and however small. With an argument, the alternate
 * stack is also set by system calls without the C library. */
#include "robust.h"
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

/* linux/signal.h */
#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

static char *volatile low, *volatile high, *volatile main_frame;
static volatile int handled, faults, level;
static size_t frame_bytes;
static int raw;

/* Counters overflow before the program has finished: samples arrive meanwhile. */
static void work(void)
{
    for (int i = 0; i < 200000; i++)
        robust_sink += (unsigned long)i;
}

static void handle(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction wish = {0};
    wish.sa_sigaction = handler;
    wish.sa_flags = flags | SA_SIGINFO;
    NEED(!sigaction(number, &wish, NULL));
}

static char *own(size_t bytes, int flags)
{
    stack_t wish = {0};
    wish.ss_sp = mmap(NULL, (bytes + 4095) & ~4095ul, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(wish.ss_sp != MAP_FAILED);
    wish.ss_size = bytes;
    wish.ss_flags = flags;
    low = wish.ss_sp;
    high = low + bytes;
    NEED(!(raw ? syscall(SYS_sigaltstack, &wish, NULL) : sigaltstack(&wish, NULL)));
    return low;
}

static void none(void)
{
    stack_t off = {.ss_flags = SS_DISABLE};
    NEED(!sigaltstack(&off, NULL));
}

/* On the stack of the interrupted code. */
static void on_main(int number, siginfo_t *info, void *context)
{
    volatile char much[200000];
    much[0] = much[sizeof much - 1] = (char)number;
    char *here = (char *)&much[0];
    char *sp = (char *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RSP];
    NEED(here < sp && sp - here < 300000 && sp < main_frame + 4096 && main_frame - sp < 4096 * 4);
    NEED((char *)info < sp && (char *)context < sp && info->si_signo == number);
    robust_sink += (unsigned long)much[0];
    work();
    handled++;
}

/* On the alternate stack. */
static void on_own(int number, siginfo_t *info, void *context)
{
    char here;
    stack_t now;
    NEED(&here >= low && &here < high && (char *)info < high && (char *)context >= low);
    NEED(info->si_signo == number);
    NEED(!sigaltstack(NULL, &now) && now.ss_flags == SS_ONSTACK && now.ss_sp == low);
    NEED(now.ss_size == (size_t)(high - low));
    stack_t other = {.ss_sp = high, .ss_size = 1 << 16};
    NEED(sigaltstack(&other, NULL) == -1 && errno == EPERM);
    stack_t off = {.ss_flags = SS_DISABLE};
    NEED(!raw || (syscall(SYS_sigaltstack, &off, NULL) == -1 && errno == EPERM));
    work();
    handled++;
}

static void on_nested(int number, siginfo_t *info, void *context)
{
    (void)context;
    char here;
    NEED(&here >= low && &here < high && (char *)info < high);
    if (++level < 3)
        raise(number == SIGUSR1 ? SIGUSR2 : SIGUSR1);
    work();
    handled++;
}

/* The stack is disarmed while the handler runs: another signal is handled on the same stack. */
static void on_disarmed(int number, siginfo_t *info, void *context)
{
    char here;
    stack_t now;
    (void)info, (void)context;
    NEED(&here >= low && &here < high);
    NEED(!sigaltstack(NULL, &now) && now.ss_flags == SS_DISABLE);
    handled++;
    if (number == SIGUSR1) {
        raise(SIGUSR2);
        /* Leaves this frame, and returns to it. */
        static ucontext_t here_context, other;
        static volatile int been;
        been = 0;
        NEED(!getcontext(&here_context));
        if (!been++) {
            other = here_context;
            NEED(!setcontext(&other));
        }
    }
    work();
}

static void stacks(void)
{
    char here;
    main_frame = &here;

    handle(SIGUSR1, on_main, SA_ONSTACK);
    raise(SIGUSR1);
    none();
    raise(SIGUSR1);
    own(64 << 10, 0);
    handle(SIGUSR1, on_main, 0);
    raise(SIGUSR1);
    printf("interrupted %d\n", handled);

    handled = 0;
    handle(SIGUSR1, on_own, SA_ONSTACK);
    for (size_t bytes = frame_bytes + 4096; bytes <= 64 << 10; bytes += 1536) {
        own(bytes, 0);
        raise(SIGUSR1);
    }
    own(64 << 10, 0);
    raise(SIGUSR1);
    printf("own %d\n", handled > 10);

    handled = 0;
    handle(SIGUSR1, on_nested, SA_ONSTACK | SA_NODEFER);
    handle(SIGUSR2, on_nested, SA_NODEFER);
    own(3 * (frame_bytes + 4096), 0);
    raise(SIGUSR1);
    printf("nested %d\n", handled);

    handled = 0;
    handle(SIGUSR1, on_disarmed, SA_ONSTACK);
    handle(SIGUSR2, on_disarmed, SA_ONSTACK);
    for (int i = 0; i < 5; i++) {
        own(64 << 10, (int)SS_AUTODISARM);
        for (int again = 0; again < 3; again++) {
            stack_t now;
            raise(SIGUSR1);
            NEED(!sigaltstack(NULL, &now) && now.ss_sp == low && now.ss_flags == (int)SS_AUTODISARM);
        }
    }
    printf("disarmed %d\n", handled);
    none();
}

/* All vector registers keep their values, even where the frame was moved. */
__attribute__((target("avx"))) static void vectors(void)
{
    unsigned char before[32], after[32];
    long process = getpid(), thread = syscall(SYS_gettid), result;
    handle(SIGUSR1, on_main, 0);
    own(64 << 10, 0);
    for (int i = 0; i < 32; i++)
        before[i] = (unsigned char)(i + 1);
    __asm__ volatile("vmovdqu (%4), %%ymm15\n syscall\n vmovdqu %%ymm15, (%5)"
                     : "=a"(result)
                     : "a"(SYS_tgkill), "D"(process), "S"(thread), "b"(before), "r"(after), "d"(SIGUSR1)
                     : "rcx", "r11", "ymm15", "memory");
    NEED(!result && !memcmp(before, after, sizeof before));
    none();
}

/* Coroutines begun on alternate stacks, as portable thread libraries begin them. */
static sigjmp_buf begun, back, at[2];
static volatile int made, turn;

static void run(int me)
{
    volatile long mine[16];
    for (int i = 0; i < 16; i++)
        mine[i] = me * 1000 + i;
    for (;;) {
        for (int i = 0; i < 16; i++)
            NEED(mine[i] == me * 1000 + i);
        NEED(turn == me);
        if (!sigsetjmp(at[me], 0))
            siglongjmp(back, 1);
    }
}

static void on_begin(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
    if (!sigsetjmp(begun, 0)) {
        handled++;
        return;
    }
    run(made);
}

static void coroutines(void)
{
    handled = 0;
    handle(SIGUSR2, on_begin, SA_ONSTACK);
    for (int i = 0; i < 2; i++) {
        made = turn = i;
        own(8192 > frame_bytes + 4096 ? 8192 : frame_bytes + 4096, 0);
        raise(SIGUSR2);
        none();
        if (!sigsetjmp(back, 0))
            siglongjmp(begun, 1);
    }
    for (volatile int i = 0; i < 20000; i++) {
        turn = i % 2;
        if (!sigsetjmp(back, 0))
            siglongjmp(at[turn], 1);
        if (i % 1000 == 0)
            work();
    }
    printf("coroutines %d\n", handled);
}

/* Where the kernel cannot write a frame, the thread gets SIGSEGV instead, or SIGSEGV kills it. */
static void on_forced(int number, siginfo_t *info, void *context)
{
    (void)context;
    NEED(number == SIGSEGV && info->si_code == SI_KERNEL && info->si_addr == NULL);
    faults++;
}

static void no_room(void)
{
    handled = 0;
    handle(SIGHUP, on_own, SA_ONSTACK);
    handle(SIGSEGV, on_forced, 0);
    own(64 << 10, 0);
    for (int i = 0; i < 20; i++) {
        NEED(!mprotect(low, 64 << 10, PROT_READ));
        raise(SIGHUP);
        NEED(faults == i + 1 && handled == i);
        NEED(!mprotect(low, 64 << 10, PROT_READ | PROT_WRITE));
        raise(SIGHUP);
        NEED(faults == i + 1 && handled == i + 1);
    }
    /* The frame reaches beyond the end of the least stack, where AVX-512 makes it large enough. */
    if (frame_bytes > 2048)
        own(2048, 0);
    else
        NEED(!mprotect(low, 64 << 10, PROT_READ));
    raise(SIGHUP);
    NEED(faults == 21);
    printf("forced %d\n", faults);
    fflush(stdout);
    for (int how = 0; how < 3; how++) {
        pid_t child = fork();
        if (!child) {
            if (how == 0)
                signal(SIGSEGV, SIG_DFL);
            if (how == 1) {
                sigset_t block;
                sigemptyset(&block);
                sigaddset(&block, SIGSEGV);
                sigprocmask(SIG_BLOCK, &block, NULL);
            }
            if (how == 2)
                handle(SIGSEGV, on_forced, SA_ONSTACK);
            raise(SIGHUP);
            _exit(1);
        }
        int status;
        NEED(waitpid(child, &status, 0) == child);
        printf("died of %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : -1);
    }
    none();
}

/* What sigaltstack returns, through the C library and without it. */
static void answers(void)
{
    stack_t *nowhere = (stack_t *)4, had, wish = {0};
    NEED(sigaltstack(NULL, nowhere) == -1 && errno == EFAULT);
    NEED(sigaltstack(nowhere, NULL) == -1 && errno == EFAULT);
    NEED(syscall(SYS_sigaltstack, nowhere, NULL) == -1 && errno == EFAULT);
    wish.ss_sp = &had;
    wish.ss_size = 2047;
    NEED(sigaltstack(&wish, NULL) == -1 && errno == ENOMEM);
    wish.ss_size = 1 << 16;
    wish.ss_flags = 77;
    NEED(sigaltstack(&wish, NULL) == -1 && errno == EINVAL);
    NEED(!sigaltstack(NULL, &had) && had.ss_flags == SS_DISABLE && had.ss_sp == NULL && had.ss_size == 0);
    char *memory = own(1 << 16, 0);
    NEED(!sigaltstack(NULL, &had) && had.ss_flags == 0 && had.ss_sp == memory && had.ss_size == 1 << 16);
    /* It is set although the old one cannot be written. */
    wish.ss_flags = 0;
    wish.ss_sp = memory;
    wish.ss_size = 1 << 15;
    NEED(sigaltstack(&wish, nowhere) == -1 && errno == EFAULT);
    NEED(!sigaltstack(NULL, &had) && had.ss_size == 1 << 15);
    /* Old and new in one place. */
    wish.ss_size = 1 << 14;
    stack_t *same = &wish;
    NEED(!sigaltstack(&wish, same) && wish.ss_size == 1 << 15);
    NEED(!sigaltstack(NULL, &had) && had.ss_size == 1 << 14);
    none();
    printf("answers\n");
}

int main(int count, char **arguments)
{
    raw = count > 1;
    (void)arguments;
    frame_bytes = (size_t)sysconf(_SC_MINSIGSTKSZ);
    /* Makes the loader resolve the functions that handlers call: that takes more room than some of their stacks have. */
    NEED(!sigaltstack(NULL, NULL) && syscall(SYS_sigaltstack, NULL, NULL) == 0 && !raise(SIGURG));
    errno = 0;
    stacks();
    coroutines();
    if (__builtin_cpu_supports("avx"))
        vectors();
    no_room();
    answers();
    burn(20);
    return 0;
}
