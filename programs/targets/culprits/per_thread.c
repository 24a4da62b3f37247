// One struct of 24 bytes for each thread, side by side.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

struct worker {
#ifdef FIX
    _Alignas(64)
#endif
    uint64_t done, bytes;
    uint32_t errors, id;
};
static struct worker workers[4];
static unsigned char table[4096];

static void *run(void *argument) {
    struct worker *own = argument;
    uint32_t x = own->id * 2654435761u + 1;
    for (long i = 0; i < 40000000; i++) {
        x = x * 1664525u + 1013904223u;
        unsigned char c = table[(x >> 16) & 4095];
        own->done++;
        own->bytes += c;
        if (c == 255) own->errors++;
        __asm__ volatile("" ::: "memory");
    }
    return NULL;
}

int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4096; i++) table[i] = i * 7;
    for (uint32_t i = 0; i < 4; i++) {
        workers[i].id = i;
        pthread_create(&threads[i], NULL, run, &workers[i]);
    }
    uint64_t sum = 0;
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        sum += workers[i].bytes;
    }
    printf("%lu\n", sum);
}
