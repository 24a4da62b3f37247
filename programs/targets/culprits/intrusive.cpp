// A reference count of the program's own, taken for each request.
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

struct Config {
    std::atomic<int> references{1};
    int limit = 10;
};

static Config *current = new Config;

struct Ref {
    Config *config;
    Ref() : config(current) { config->references.fetch_add(1, std::memory_order_relaxed); }
    ~Ref() {
        if (config->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete config;
    }
};

static long serve(int requests) {
    long sum = 0;
#ifdef FIX
    Ref config;
    for (int i = 0; i < requests; i++) sum += config.config->limit ^ i;
#else
    for (int i = 0; i < requests; i++) {
        Ref config;
        sum += config.config->limit ^ i;
    }
#endif
    return sum;
}

int main() {
    std::vector<std::thread> threads;
    std::atomic<long> sum{0};
    for (int i = 0; i < 4; i++) threads.emplace_back([&] { sum += serve(10000000); });
    for (auto &thread : threads) thread.join();
    std::printf("%ld\n", sum.load());
}
