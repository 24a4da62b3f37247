// A cache whose mutex protects the members beside it: nothing there is falsely shared.
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

class Cache {
    std::mutex mutex_;
    std::unordered_map<uint64_t, uint64_t> entries_;
    uint64_t hits_ = 0, misses_ = 0;

public:
    uint64_t lookup(uint64_t key) {
        std::lock_guard<std::mutex> guard(mutex_);
        auto found = entries_.find(key);
        if (found != entries_.end()) {
            hits_++;
            return found->second;
        }
        misses_++;
        entries_.emplace(key, key * 3);
        return 0;
    }
    uint64_t hits() const { return hits_; }
};

static Cache cache;

int main() {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([t] {
            uint64_t x = t + 1, sum = 0;
            for (int i = 0; i < 2000000; i++) {
                x ^= x << 13, x ^= x >> 7, x ^= x << 17;
                sum += cache.lookup(x % 20000);
            }
            volatile uint64_t sink = sum;
            (void)sink;
        });
    for (auto &thread : threads) thread.join();
    printf("%lu\n", cache.hits());
}
