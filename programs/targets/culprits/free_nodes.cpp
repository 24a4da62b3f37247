// A stack of free nodes without locks (Treiber 1986).
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

struct Node {
    std::atomic<uint32_t> next;
    uint32_t payload;
};

static std::vector<Node> nodes(1024);
static std::atomic<uint64_t> head;

static void push(uint32_t index) {
    uint64_t old = head.load(std::memory_order_relaxed);
    uint64_t next;
    do {
        nodes[index].next.store(uint32_t(old), std::memory_order_relaxed);
        next = ((old >> 32) + 1) << 32 | index;
    } while (!head.compare_exchange_weak(old, next, std::memory_order_release));
}

static uint32_t pop() {
    uint64_t old = head.load(std::memory_order_acquire);
    for (;;) {
        uint32_t index = uint32_t(old);
        if (index == 0)
            return 0;
        uint64_t next = ((old >> 32) + 1) << 32 | nodes[index].next.load(std::memory_order_relaxed);
        if (head.compare_exchange_weak(old, next, std::memory_order_acquire))
            return index;
    }
}

int main() {
    for (uint32_t index = 1; index < nodes.size(); index++)
        push(index);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; thread++)
        threads.emplace_back([] {
            for (int i = 0; i < 6000000; i++) {
                uint32_t node = pop();
                if (node == 0)
                    continue;
                nodes[node].payload++;
                push(node);
            }
        });
    for (auto& thread : threads)
        thread.join();
    std::printf("%u\n", nodes[1].payload);
}
