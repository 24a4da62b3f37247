// Copies of shared_ptr: threads count references in 5,000 objects, and change nothing else.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

struct Order {
    uint64_t id = 1, price = 2;
    char name[16] = "";
};

int main() {
    std::vector<std::shared_ptr<Order>> book;
    for (int i = 0; i < 5000; i++) book.push_back(std::make_shared<Order>());
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&book, t] {
            uint64_t x = t + 1, sum = 0;
            for (int i = 0; i < 10000000; i++) {
                x ^= x << 13, x ^= x >> 7, x ^= x << 17;
#ifdef FIX
                const std::shared_ptr<Order> &order = book[x % book.size()];
#else
                std::shared_ptr<Order> order = book[x % book.size()];
#endif
                sum += order->price + order->id;
            }
            volatile uint64_t sink = sum;
            (void)sink;
        });
    for (auto &thread : threads) thread.join();
    puts("done");
}
