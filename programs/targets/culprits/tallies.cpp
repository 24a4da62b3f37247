// An array of structs that the threads of a parallel region index by their number.
#include <cstdint>
#include <cstdio>
#include <omp.h>

#ifdef FIX
struct alignas(64) Tally {
#else
struct Tally {
#endif
    int64_t even = 0, odd = 0;
};
static Tally tallies[8];

int main() {
#pragma omp parallel num_threads(4)
    {
        Tally &own = tallies[omp_get_thread_num()];
        uint32_t x = omp_get_thread_num() + 1;
        for (int i = 0; i < 60000000; i++) {
            x ^= x << 13, x ^= x >> 17, x ^= x << 5;
            (x & 1 ? own.odd : own.even)++;
            asm volatile("" ::: "memory");
        }
    }
    int64_t sum = 0;
    for (const Tally &tally : tallies) sum += tally.even;
    printf("%ld\n", (long)sum);
}
