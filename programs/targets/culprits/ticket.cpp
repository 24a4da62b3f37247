// A ticket lock of one's own.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <sched.h>
#include <thread>

class TicketLock {
    std::atomic<uint32_t> next_{0}, serving_{0};

public:
    void lock() {
        uint32_t ticket = next_.fetch_add(1, std::memory_order_relaxed);
        while (serving_.load(std::memory_order_acquire) != ticket) sched_yield();
    }
    void unlock() { serving_.store(serving_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
};

static TicketLock turnstile;
alignas(64) static uint64_t visitors;

static void enter(uint64_t number) {
    turnstile.lock();
    visitors += number;
    turnstile.unlock();
}

static void visit() {
#ifdef FIX
    volatile uint64_t own = 0;
    for (int i = 0; i < 3000000; i++) own = own + 1;
    enter(own);
#else
    for (int i = 0; i < 3000000; i++) enter(1);
#endif
}

int main() {
    std::thread one(visit), other(visit);
    one.join();
    other.join();
    printf("%lu\n", visitors);
}
