// One distance: ARGV[1] passes over ARGV[2] lines, each line loaded once a pass, and nothing else in the loop touches
// memory. So between a load and the next one of its line lie ARGV[2] - 1 loads. Both numbers are parsed before. A third
// argument is a number of threads, each with lines of its own.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINE = 64 };
static long passes, lines;

static __attribute__((noinline)) unsigned long pass_over(const volatile unsigned char *data, long lines) {
    unsigned long sum = 0;
    for (long i = 0; i < lines; i++)
        sum += data[i * LINE];
    return sum;
}

static void *work(void *result) {
    volatile unsigned char *data = aligned_alloc(LINE, lines * LINE);
    for (long i = 0; i < lines; i++)
        data[i * LINE] = 1;
    unsigned long sum = 0;
    for (long pass = 0; pass < passes; pass++)
        sum += pass_over(data, lines);
    *(unsigned long *)result = sum;
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[64];
    unsigned long sums[64] = {0};
    long count = argc > 3 ? atol(argv[3]) : 1;
    if (argc < 3 || count > 64)
        return 1;
    passes = atol(argv[1]);
    lines = atol(argv[2]);
    for (long i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, work, &sums[i]))
            return 1;
    for (long i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        printf("%lu\n", sums[i]);
    }
    return 0;
}
