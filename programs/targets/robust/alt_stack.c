/* Alternate stacks: the program reads back what it has set, the stacks work, and they may be tiny. */
#include "robust.h"
#include <setjmp.h>
#include <sys/resource.h>

static sigjmp_buf out;
static volatile char *low, *high;
static volatile int handled;

static void on_overflow(int number)
{
    volatile char here = 0;
    stack_t now;
    NEED(number == SIGSEGV);
    NEED(&here >= low && &here < high);
    NEED(!sigaltstack(NULL, &now) && now.ss_flags == SS_ONSTACK && now.ss_sp == (void *)low);
    handled++;
    siglongjmp(out, 1);
}

static void on_usr1(int number)
{
    volatile char here = 0;
    NEED(number == SIGUSR1);
    stack_t now;
    NEED(!sigaltstack(NULL, &now) && now.ss_flags == SS_ONSTACK && now.ss_sp == (void *)low);
    /* For a stack this small it is not specified which memory the handler runs on. */
    robust_sink += here;
    burn(10);
    handled++;
}

__attribute__((noinline)) static int overflow(int depth)
{
    volatile char page[4096];
    page[0] = (char)depth;
    return overflow(depth + 1) + page[0];
}

static void own(size_t bytes)
{
    stack_t wish = {0}, had;
    char *memory = malloc(bytes);
    NEED(memory);
    low = memory;
    high = memory + bytes;
    wish.ss_sp = memory;
    wish.ss_size = bytes;
    NEED(!sigaltstack(&wish, &had));
    NEED(!sigaltstack(NULL, &had));
    NEED(had.ss_sp == memory && had.ss_size == bytes && had.ss_flags == 0);
}

static void none(void)
{
    stack_t wish = {0}, had;
    wish.ss_flags = SS_DISABLE;
    NEED(!sigaltstack(&wish, &had) && had.ss_sp == (void *)low);
    NEED(!sigaltstack(NULL, &had) && had.ss_flags == SS_DISABLE);
}

static void *overflow_in_thread(void *unused)
{
    stack_t had;
    NEED(!sigaltstack(NULL, &had) && had.ss_flags == SS_DISABLE);
    burn(10);
    return unused;
}

int main(void)
{
    struct sigaction segv = {.sa_handler = on_overflow, .sa_flags = SA_ONSTACK};
    struct sigaction usr1 = {.sa_handler = on_usr1, .sa_flags = SA_ONSTACK};
    stack_t had;
    pthread_t thread;
    struct rlimit limit = {1 << 20, 1 << 20};

    NEED(!setrlimit(RLIMIT_STACK, &limit));
    NEED(!sigaltstack(NULL, &had) && had.ss_flags == SS_DISABLE);
    NEED(!sigaction(SIGSEGV, &segv, NULL) && !sigaction(SIGUSR1, &usr1, NULL));

    /* Set, but no signal of the program is ever delivered on it. */
    own(2048);
    burn(60);
    printf("tiny\n");

    own(64 << 10);
    for (volatile int i = 0; i < 5; i++) {
        if (!sigsetjmp(out, 1))
            return overflow(0);
        burn(5);
    }
    printf("overflows %d\n", handled);
    NEED(!pthread_create(&thread, NULL, overflow_in_thread, NULL) && !pthread_join(thread, NULL));

    /* Room for the program's own frame and little more (the kernel says how much a frame takes at least). */
    long frame = sysconf(_SC_MINSIGSTKSZ);
    own((size_t)frame + 2048);
    handled = 0;
    for (int i = 0; i < 5; i++) {
        raise(SIGUSR1);
        burn(2);
    }
    printf("small %d\n", handled);
    none();
    burn(20);
    printf("none\n");
    return 0;
}
