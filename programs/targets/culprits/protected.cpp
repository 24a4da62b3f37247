// Statistics that a mutex protects, which lies on a cache line of its own.
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

struct Statistics {
    uint64_t requests = 0, bytes = 0, longest = 0;

    void add(const Statistics &other) {
        requests += other.requests;
        bytes += other.bytes;
        if (other.longest > longest) longest = other.longest;
    }
};

alignas(64) static std::mutex guard;
alignas(64) static Statistics total;

static void report(const Statistics &part) {
    std::lock_guard<std::mutex> lock(guard);
    total.add(part);
}

#ifdef FIX
static const uint64_t REQUESTS = 60000000;
#else
static const uint64_t REQUESTS = 4000000;
#endif

static void serve() {
    Statistics own;
    for (uint64_t i = 0; i < REQUESTS; i++) {
        Statistics one;
        one.requests = 1;
        one.bytes = one.longest = i % 1000;
#ifdef FIX
        own.add(one);
        asm volatile("" : : "r"(&own) : "memory");
#else
        report(one);
#endif
    }
    report(own);
}

int main() {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++) threads.emplace_back(serve);
    for (auto &thread : threads) thread.join();
    printf("%lu\n", total.bytes);
}
