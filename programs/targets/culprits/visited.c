// Threads mark what they have visited in one set of bits.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { WORDS = 512, VERTICES = WORDS * 64 };
static _Atomic unsigned long visited[WORDS];

static unsigned long next(unsigned long random) {
    random ^= random << 13;
    random ^= random >> 7;
    return random ^ random << 17;
}

static void *search(void *seed) {
    unsigned long random = (unsigned long)seed, first = 0;
#ifdef FIX
    unsigned long own[WORDS] = {0};
#endif
    for (int i = 0; i < 20000000; i++) {
        random = next(random);
        unsigned long vertex = random % VERTICES, bit = 1UL << vertex % 64;
#ifdef FIX
        first += !(own[vertex / 64] & bit);
        own[vertex / 64] |= bit;
#else
        first += !(atomic_fetch_or_explicit(&visited[vertex / 64], bit, memory_order_relaxed) & bit);
#endif
    }
#ifdef FIX
    for (int i = 0; i < WORDS; i++) visited[i] |= own[i];
#endif
    return (void *)first;
}

int main(void) {
    pthread_t threads[4];
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, search, (void *)(i + 1));
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    unsigned long sum = 0;
    for (int i = 0; i < WORDS; i++) sum += visited[i];
    printf("%lu\n", sum);
}
