// A queue of single items under a mutex, with a condition variable.
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#ifdef FIX
static const int ITEMS = 100000000;
static const size_t BATCH = 1000;
#else
static const int ITEMS = 10000000;
static const size_t BATCH = 1;
#endif

class Queue {
    std::mutex mutex_;
    std::condition_variable filled_;
    std::deque<uint64_t> items_;

public:
    void push(const std::vector<uint64_t> &batch) {
        std::lock_guard<std::mutex> guard(mutex_);
        items_.insert(items_.end(), batch.begin(), batch.end());
        filled_.notify_one();
    }
    void pop(std::vector<uint64_t> &batch) {
        std::unique_lock<std::mutex> guard(mutex_);
        filled_.wait(guard, [this] { return !items_.empty(); });
        size_t taken = std::min(BATCH, items_.size());
        batch.assign(items_.begin(), items_.begin() + taken);
        items_.erase(items_.begin(), items_.begin() + taken);
    }
};

static Queue queue;

int main() {
    std::thread producer([] {
        std::vector<uint64_t> batch;
        for (int i = 0; i < ITEMS; i++) {
            batch.push_back(i);
            if (batch.size() < BATCH) continue;
            queue.push(batch);
            batch.clear();
        }
    });
    std::thread consumer([] {
        std::vector<uint64_t> batch;
        uint64_t sum = 0;
        for (int taken = 0; taken < ITEMS; taken += batch.size()) {
            queue.pop(batch);
            for (uint64_t item : batch) sum += item;
        }
        printf("%lu\n", sum);
    });
    producer.join();
    consumer.join();
}
