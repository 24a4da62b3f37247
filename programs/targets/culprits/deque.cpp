// A work-stealing deque (Chase and Lev, SPAA 2005): the owner pushes and pops at the bottom, two thieves take from the top.
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

class WorkDeque {
public:
    explicit WorkDeque(size_t capacity) : mask_(capacity - 1), tasks_(capacity) {}

    void push(uint64_t task) {
        int64_t bottom = bottom_.load(std::memory_order_relaxed);
        tasks_[bottom & mask_].store(task, std::memory_order_relaxed);
        bottom_.store(bottom + 1, std::memory_order_release);
    }

    bool pop(uint64_t& task) {
        int64_t bottom = bottom_.load(std::memory_order_relaxed) - 1;
        bottom_.store(bottom, std::memory_order_seq_cst);
        int64_t top = top_.load(std::memory_order_seq_cst);
        if (top > bottom) {
            bottom_.store(bottom + 1, std::memory_order_relaxed);
            return false;
        }
        task = tasks_[bottom & mask_].load(std::memory_order_relaxed);
        if (top == bottom) {
            bool won = top_.compare_exchange_strong(top, top + 1);
            bottom_.store(bottom + 1, std::memory_order_relaxed);
            return won;
        }
        return true;
    }

    bool steal(uint64_t& task) {
        int64_t top = top_.load(std::memory_order_acquire);
        int64_t bottom = bottom_.load(std::memory_order_acquire);
        if (top >= bottom)
            return false;
        task = tasks_[top & mask_].load(std::memory_order_relaxed);
        return top_.compare_exchange_strong(top, top + 1);
    }

private:
#ifdef FIX
    alignas(64) std::atomic<int64_t> top_{0};
    alignas(64) std::atomic<int64_t> bottom_{0};
    alignas(64) size_t mask_;
#else
    std::atomic<int64_t> top_{0};
    std::atomic<int64_t> bottom_{0};
    size_t mask_;
#endif
    std::vector<std::atomic<uint64_t>> tasks_;
};

static WorkDeque deque(1 << 12);
static std::atomic<bool> done;
static std::atomic<uint64_t> result;

static void thief() {
    uint64_t task, sum = 0;
    while (!done.load(std::memory_order_relaxed))
        if (deque.steal(task))
            sum += task;
    result += sum;
}

int main() {
    std::thread a(thief), b(thief);
    uint64_t task, sum = 0;
    for (uint64_t round = 0; round < 1500000; round++) {
        for (int i = 0; i < 8; i++)
            deque.push(round + i);
        while (deque.pop(task))
            sum += task;
    }
    done = true;
    a.join();
    b.join();
    result += sum;
    return result.load() == 0;
}
