/* Signals that arrive together, thousands of times: whatever handlers do, the interrupted code finds its vector registers
 * unchanged. */
#include "robust.h"
#include <sys/syscall.h>

static volatile int handled;
static volatile double busy;

static void handler(int signal)
{
    handled = handled * 10 + (signal == SIGUSR1 ? 1 : 2);
    busy = busy * 1.5 + 3;
    __asm__ volatile("pxor %%xmm6, %%xmm6; pxor %%xmm7, %%xmm7" : : : "xmm6", "xmm7");
}

/* Unblocks both signals in one system call, with these values in two vector registers. The second handler starts where the
 * first was about to start. */
static void let_in(const sigset_t *mask, unsigned long low[2], unsigned long high[2])
{
    register long bytes __asm__("r10") = 8;
    long result;
    __asm__ volatile("movdqu (%3), %%xmm6; movdqu (%4), %%xmm7; syscall; movdqu %%xmm6, (%3); movdqu %%xmm7, (%4)"
                     : "=a"(result)
                     : "0"((long)SYS_rt_sigprocmask), "D"((long)SIG_SETMASK), "r"(low), "r"(high), "S"(mask), "d"(0L), "r"(bytes)
                     : "rcx", "r11", "memory", "xmm6", "xmm7");
    NEED(result == 0);
}

static void at_once(void)
{
    sigset_t both, before;
    sigemptyset(&both);
    sigaddset(&both, SIGUSR1);
    sigaddset(&both, SIGUSR2);
    for (unsigned long i = 1; i <= 5; i++) {
        unsigned long low[2] = {0x1111 * i, 0x2222}, high[2] = {0x3333, 0x4444 * i};
        NEED(!sigprocmask(SIG_BLOCK, &both, &before));
        NEED(!raise(SIGUSR1) && !raise(SIGUSR2));
        handled = 0;
        let_in(&before, low, high);
        printf("%d: %lx %lx %lx %lx\n", handled, low[0], low[1], high[0], high[1]);
    }
}

/* More threads than processors, so that handlers and the code that they interrupt take turns on them. */
enum { THREADS = 3, SIGNALS = 6000 };

static pthread_t threads[THREADS];
static volatile int over;

static void *compute(void *number)
{
    do {
        char *blocks[16], text[64], expected[64];
        for (int i = 0; i < 16; i++)
            memset(blocks[i] = malloc(1000 + i * 517), i, 1000);
        double sum = 0;
        for (int i = 0; i < 20; i++)
            sum += i * 0.5;
        snprintf(text, sizeof text, "%.3f in %d", sum, *(int *)number);
        snprintf(expected, sizeof expected, "95.000 in %d", *(int *)number);
        NEED(!strcmp(text, expected));
        for (int i = 0; i < 16; i++) {
            NEED(blocks[i][0] == i && blocks[i][999] == i);
            free(blocks[i]);
        }
    } while (!over);
    return NULL;
}

static void storm(void)
{
    static int numbers[THREADS] = {0, 1, 2};
    for (int i = 0; i < THREADS; i++)
        NEED(!pthread_create(&threads[i], NULL, compute, &numbers[i]));
    for (int i = 0; i < SIGNALS; i++) {
        NEED(!pthread_kill(threads[i % THREADS], i & 1 ? SIGUSR1 : SIGUSR2));
        usleep(30);
    }
    over = 1;
    for (int i = 0; i < THREADS; i++)
        NEED(!pthread_join(threads[i], NULL));
}

int main(void)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    NEED(!sigaction(SIGUSR1, &action, NULL) && !sigaction(SIGUSR2, &action, NULL));
    at_once();
    storm();
    return 0;
}
