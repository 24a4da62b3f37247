// A table that is filled once and then read by all threads.
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

int main() {
    std::vector<uint32_t> table(1 << 16);
    for (size_t i = 0; i < table.size(); i++) table[i] = i * 2654435761u;
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; t++)
        threads.emplace_back([&table, t] {
            uint32_t x = t;
            for (int i = 0; i < 60000000; i++) x = table[x & 0xffff] + i;
            printf("%u\n", x);
        });
    for (auto &thread : threads) thread.join();
}
