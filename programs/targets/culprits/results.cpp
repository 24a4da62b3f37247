// A vector of numbers in which each thread counts in its own place.
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

static bool is_prime(unsigned n) {
    if (n < 2 || n % 2 == 0) return n == 2;
    for (unsigned d = 3; d * d <= n && d < 8; d += 2)
        if (n % d == 0) return false;
    return true;
}

int main() {
    const unsigned number = 4;
    std::vector<int> primes(number);
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < number; t++)
        threads.emplace_back([&primes, t] {
#ifdef FIX
            int own = 0;
            for (unsigned n = t; n < 400000000; n += 4)
                if (is_prime(n)) own++;
            primes[t] = own;
#else
            for (unsigned n = t; n < 400000000; n += 4)
                if (is_prime(n)) {
                    primes[t]++;
                    asm volatile("" ::: "memory");
                }
#endif
        });
    for (auto &thread : threads) thread.join();
    printf("%d\n", primes[0] + primes[1] + primes[2] + primes[3]);
}
