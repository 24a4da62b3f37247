// Structs of 64 bytes, one for each thread, in a block that malloc did not begin with a cache line.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

struct Lane {
    uint64_t first, second, third, unused[4], last;
};

static void drive(Lane *own) {
    for (uint64_t i = 0; i < 60000000; i++) {
        own->first++;
        own->last += i;
        asm volatile("" ::: "memory");
    }
}

int main() {
    const int number = 4;
#ifdef FIX
    Lane *lanes = static_cast<Lane *>(aligned_alloc(64, number * sizeof(Lane)));
#else
    Lane *lanes = static_cast<Lane *>(malloc(number * sizeof(Lane)));
#endif
    std::vector<std::thread> threads;
    for (int t = 0; t < number; t++) {
        lanes[t] = Lane();
        threads.emplace_back(drive, &lanes[t]);
    }
    for (auto &thread : threads) thread.join();
    printf("%lu\n", lanes[0].first + lanes[3].last);
}
