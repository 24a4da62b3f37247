/* A SIGTRAP handler that computes for a while, with SIGTRAP unblocked, on an alternate stack of its own. */
#include "robust.h"

static volatile int deep, most;

static void on_trap(int number)
{
    volatile unsigned char guard[512];
    (void)number;
    for (unsigned i = 0; i < sizeof guard; i++)
        guard[i] = (unsigned char)(i ^ (unsigned)deep);
    deep++;
    if (deep > most)
        most = deep;
    burn(5);
    if (deep < 4)
        raise(SIGTRAP);
    burn(5);
    deep--;
    for (unsigned i = 0; i < sizeof guard; i++)
        NEED(guard[i] == (unsigned char)(i ^ (unsigned)deep));
}

int main(int argc, char **argv)
{
    struct sigaction wish = {.sa_handler = on_trap, .sa_flags = SA_NODEFER};
    (void)argv;
    if (argc > 1) {
        stack_t own = {.ss_sp = malloc(1 << 18), .ss_size = 1 << 18};
        NEED(!sigaltstack(&own, NULL));
        wish.sa_flags |= SA_ONSTACK;
    }
    NEED(!sigaction(SIGTRAP, &wish, NULL));
    for (int i = 0; i < 10; i++) {
        burn(2);
        raise(SIGTRAP);
        NEED(deep == 0);
    }
    printf("deepest %d\n", most);
    return 0;
}
