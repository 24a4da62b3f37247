/* A profiler of its own: SIGPROF by setitimer, with a handler that computes. */
#include "robust.h"
#include <sys/time.h>

static volatile int ticks;

static void on_prof(int number)
{
    int before = errno;
    NEED(number == SIGPROF);
    for (int i = 0; i < 2000; i++)
        robust_sink += (unsigned long)i;
    ticks++;
    errno = before;
}

int main(void)
{
    struct sigaction wish = {.sa_handler = on_prof, .sa_flags = SA_RESTART};
    struct itimerval every = {{0, 4000}, {0, 4000}}, never = {{0, 0}, {0, 0}};
    NEED(!sigaction(SIGPROF, &wish, NULL));
    NEED(!setitimer(ITIMER_PROF, &every, NULL));
    burn(300);
    NEED(!setitimer(ITIMER_PROF, &never, NULL));
    /* At most one in each jiffy (10 ms where it is longest). */
    NEED(ticks >= 10);
    printf("ticked\n");
    return 0;
}
