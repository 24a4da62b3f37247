/* A program that begins without the C library's start-up code, as one from Go's own linker does. As Go's runtime it makes its own
 * stack for handlers only where the kernel says that there is none, and expects its handlers there.
 *
 *     cc -O1 -nostartfiles -pthread own_start.c -o own_start && ./own_start
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SIGNALS = 200 };

static char stack[64 << 10];
static stack_t expected;
static volatile int seen, there;
static pthread_t first;

static void handler(int signal)
{
    char here;
    char *low = expected.ss_sp;

    (void)signal;
    there += &here >= low && &here < low + expected.ss_size;
    seen++;
}

static void *send_signals(void *unused)
{
    for (int sent = 0; sent < SIGNALS; sent++) {
        int before = seen;
        pthread_kill(first, SIGURG);
        while (seen == before)
            usleep(100);
    }
    return unused;
}

__attribute__((used)) static void begin(void)
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK | SA_RESTART };
    stack_t mine = { .ss_sp = stack, .ss_size = sizeof stack }, found;
    pthread_t sender;

    syscall(SYS_sigaltstack, NULL, &found);
    int is_free = (found.ss_flags & SS_DISABLE) != 0;
    expected = is_free ? mine : found;
    if (is_free)
        syscall(SYS_sigaltstack, &mine, NULL);
    sigaction(SIGURG, &action, NULL);
    first = pthread_self();
    pthread_create(&sender, NULL, send_signals, NULL);
    while (seen < SIGNALS)
        ;
    pthread_join(sender, NULL);
    printf("%s alternate stack at first; %d of %d signals on the one expected\n", is_free ? "no" : "an", there, seen);
    exit(there == SIGNALS ? 0 : 1);
}

__asm__(".globl _start\n_start: xor %ebp, %ebp\n and $-16, %rsp\n call begin\n");
