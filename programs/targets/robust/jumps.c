/* Jumps in hot loops, some of them out of signal handlers. */
#include "robust.h"
#include <setjmp.h>
#include <sys/time.h>

static jmp_buf here;
static sigjmp_buf out;
static volatile sig_atomic_t ready;
static volatile long left;

__attribute__((noinline)) static void deep(int n)
{
    volatile char space[128];
    space[n % 128] = (char)n;
    if (n == 0)
        longjmp(here, 1);
    deep(n - 1);
    space[0]++;
}

static void on_alarm(int number)
{
    (void)number;
    if (ready) {
        ready = 0;
        siglongjmp(out, 1);
    }
}

int main(void)
{
    volatile long jumps = 0;
    for (volatile int i = 0; i < 200000; i++) {
        if (setjmp(here) == 0)
            deep(i % 7);
        jumps++;
    }
    printf("jumps %ld\n", jumps);

    struct itimerval every = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
    signal(SIGALRM, on_alarm);
    NEED(!setitimer(ITIMER_REAL, &every, NULL));
    while (left < 100) {
        if (sigsetjmp(out, 1)) {
            left++;
            continue;
        }
        ready = 1;
        for (;;)
            robust_sink++;
    }
    NEED(!setitimer(ITIMER_REAL, &never, NULL));
    printf("left handlers %ld\n", left);
    return 0;
}
