// Exceptions thrown and caught in hot loops, in several threads, through frames with destructors.
#include "robust.h"
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static thread_local long destroyed;

struct Guard {
    ~Guard() { destroyed++; }
};

__attribute__((noinline)) static long thrower(int depth)
{
    Guard guard;
    if (depth == 0)
        throw std::runtime_error("thrown");
    robust_sink = robust_sink + 1;
    return thrower(depth - 1) + 1;
}

static void run(long times, long *caught, long *gone)
{
    for (long i = 0; i < times; i++) {
        try {
            thrower(static_cast<int>(i % 8));
        } catch (const std::runtime_error &error) {
            NEED(std::string(error.what()) == "thrown");
            (*caught)++;
        }
    }
    *gone = destroyed;
}

int main()
{
    const long times = 15000;
    long caught[3] = {}, gone[3] = {};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++)
        threads.emplace_back(run, times, &caught[i], &gone[i]);
    for (auto &thread : threads)
        thread.join();
    for (int i = 0; i < 3; i++)
        printf("caught %ld destroyed %ld\n", caught[i], gone[i]);
    // Out of a thread's start routine by pthread_exit, through a frame with a destructor.
    pthread_t left;
    static long after;
    NEED(!pthread_create(&left, nullptr, [](void *) -> void * {
        struct Last {
            ~Last() { after++; }
        } last;
        burn(5);
        pthread_exit(nullptr);
    }, nullptr));
    pthread_join(left, nullptr);
    printf("unwound %ld\n", after);
    return 0;
}
