/* Threads write neighbouring elements of an array on the stack of the function that makes them, which was called by others.
 *
 *     c++ -O1 -pthread locals.cpp -o locals && ./locals [WRITES]
 */
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

struct Result {
    volatile long count;
    volatile long sum;
};

static long gather(long writes)
{
    alignas(64) Result results[4] = {};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; t++)
        threads.emplace_back([&results, t, writes] {
            for (long i = 0; i < writes; i++)
                results[t].count = results[t].count + i;
        });
    for (auto &thread : threads)
        thread.join();
    return results[0].count + results[1].count;
}

int main(int argc, char **argv)
{
    std::printf("%ld\n", gather(argc > 1 ? std::atol(argv[1]) : 100000000));
}
