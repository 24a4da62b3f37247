/* many_threads CREATED AT_ONCE [bytes of stack]: short-lived threads, AT_ONCE of them at a time. */
#include "robust.h"
#include <limits.h>

static volatile int running;
static long sum;

static void *work(void *number)
{
    long n = (long)number;
    char text[64];
    /* A little stack and a little time. */
    snprintf(text, sizeof text, "%ld", n);
    for (int i = 0; i < 2000; i++)
        robust_sink += (unsigned long)i;
    __atomic_add_fetch(&sum, atol(text), __ATOMIC_RELAXED);
    __atomic_add_fetch(&running, 1, __ATOMIC_SEQ_CST);
    return number;
}

static pthread_barrier_t meet;

static void *work_together(void *number)
{
    pthread_barrier_wait(&meet);
    burn(1);
    return work(number);
}

int main(int argc, char **argv)
{
    NEED(argc > 2);
    long created = atol(argv[1]), at_once = atol(argv[2]);
    pthread_t *threads = calloc((size_t)at_once, sizeof *threads);
    pthread_attr_t attributes;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, argc > 3 ? (size_t)PTHREAD_STACK_MIN : 256 << 10);
    for (long first = 0; first < created; first += at_once) {
        /* The barrier makes all of them live at the same time. */
        NEED(!pthread_barrier_init(&meet, NULL, (unsigned)at_once));
        for (long i = 0; i < at_once; i++)
            NEED(!pthread_create(&threads[i], &attributes, at_once > 8 ? work_together : work, (void *)(first + i)));
        for (long i = 0; i < at_once; i++) {
            void *result;
            NEED(!pthread_join(threads[i], &result) && result == (void *)(first + i));
        }
    }
    printf("threads %d sum %ld\n", running, sum);
    return 0;
}
