// Threads mark composite numbers in one vector of bits.
#include <cstdio>
#include <thread>
#include <vector>

int main() {
    const unsigned limit = 200000;
    std::vector<bool> composite(limit);
    std::vector<std::thread> threads;
    for (unsigned first = 0; first < 4; first++)
        threads.emplace_back([&, first] {
            for (int round = 0; round < 200; round++)
                for (unsigned step = 2 + first; step < 600; step += 4)
                    for (unsigned n = step * 2; n < limit; n += step)
                        composite[n] = true;
        });
    for (auto& thread : threads)
        thread.join();
    unsigned primes = 0;
    for (unsigned n = 2; n < limit; n++)
        primes += !composite[n];
    std::printf("%u\n", primes);
}
