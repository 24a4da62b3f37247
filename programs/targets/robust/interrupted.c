/* Waits for SIGINT or SIGTERM, computing, and ends with status 40 + signal from its handler. */
#include "robust.h"

static volatile sig_atomic_t got;

static void on_signal(int number)
{
    got = number;
}

int main(int argc, char **argv)
{
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    /* Says that it is ready by making this file. */
    NEED(argc > 1);
    FILE *ready = fopen(argv[1], "w");
    NEED(ready);
    fclose(ready);
    for (int i = 0; i < 1000 && !got; i++)
        burn(10);
    printf("got %d\n", (int)got);
    return 40 + got;
}
