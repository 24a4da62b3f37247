// Two POSIX threads and a C11 one that each work for 0.2 s of CPU time; prints what the C11 one returned.
#include <pthread.h>
#include <stdio.h>
#include <threads.h>
#include <time.h>

static volatile long counters[3];

static int work(void *place) {
    volatile long *counter = place;
    struct timespec now;
    do {
        for (int i = 0; i < 100000; i++) ++*counter;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while (now.tv_nsec < 200000000 && now.tv_sec == 0);
    return 42;
}

static void *posix(void *place) {
    work(place);
    return place;
}

int main(void) {
    pthread_t threads[2];
    thrd_t other;
    int result;
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, posix, (void *)&counters[i]);
    thrd_create(&other, work, (void *)&counters[2]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    thrd_join(other, &result);
    printf("%d\n", result);
    return 0;
}
