// A vector of numbers in which each thread counts in its own place.
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

int main() {
    const unsigned number = 4;
    std::vector<uint32_t> prices(4096);
    for (size_t i = 0; i < prices.size(); i++) prices[i] = uint32_t(i) * 2654435761u >> 20;
    std::vector<int> cheap(number);
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < number; t++)
        threads.emplace_back([&prices, &cheap, t] {
#ifdef FIX
            int own = 0;
            for (unsigned i = t; i < 200000000; i += number) {
                own += prices[i % 4096] < 2000;
                asm volatile("" ::: "memory");
            }
            cheap[t] = own;
#else
            for (unsigned i = t; i < 200000000; i += number) {
                if (prices[i % 4096] < 2000) cheap[t]++;
                asm volatile("" ::: "memory");
            }
#endif
        });
    for (auto &thread : threads) thread.join();
    printf("%d\n", cheap[0] + cheap[1] + cheap[2] + cheap[3]);
}
