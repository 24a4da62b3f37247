// Threads print to one stream.
#include <pthread.h>
#include <stdio.h>

#ifndef TIMES
#define TIMES 1
#endif

static FILE *report;

static void *work(void *number) {
    for (int i = 0; i < TIMES * 1500000; i++) fprintf(report, "%ld %d\n", (long)number, i);
    return NULL;
}

int main(void) {
    pthread_t threads[4];
    report = fopen("/dev/null", "w");
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    fclose(report);
    puts("done");
}
