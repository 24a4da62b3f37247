// Results of threads side by side on the stack of the thread that waits for them.
#include <cstdio>
#include <thread>
#include <vector>

#ifdef FIX
struct alignas(64) Result {
#else
struct Result {
#endif
    long number;
    double sum;
};

int main() {
    Result results[4] = {};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&results, t] {
            for (long i = 0; i < 40000000; i++) {
                results[t].number++;
                results[t].sum += i;
                asm volatile("" ::: "memory");
            }
        });
    for (auto &thread : threads) thread.join();
    printf("%ld %f\n", results[0].number, results[3].sum);
}
