/* What the programs in this folder share. Each checks itself while it is being sampled, says so on standard output
 * and fails loudly. Output never depends on time, addresses or process numbers: it is compared byte by byte. */
#ifndef ROBUST_H
#define ROBUST_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Ends the program with a message if something is wrong. */
#define NEED(condition)                                                                                               \
    do {                                                                                                              \
        if (!(condition)) {                                                                                           \
            fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno);                         \
            fflush(NULL);                                                                                             \
            _exit(99);                                                                                                \
        }                                                                                                             \
    } while (0)

static volatile unsigned long robust_sink;

/* CPU time of the calling thread in milliseconds. */
static inline long thread_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Computes for this many milliseconds of the thread's CPU time: enough for some samples. */
static inline void burn(long ms)
{
    long end = thread_ms() + ms;
    do {
        for (int i = 0; i < 20000; i++)
            robust_sink += (unsigned long)i;
    } while (thread_ms() < end);
}
#endif
