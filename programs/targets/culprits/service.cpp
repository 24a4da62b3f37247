// One thread counts in an object whose virtual function others call.
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

class Service {
public:
    virtual ~Service() = default;
    virtual long answer(long question) const = 0;
};

class Adder : public Service {
public:
    long answer(long question) const override { return question < limit_ ? question + offset_ : 0; }
    void note() { served_.fetch_add(1, std::memory_order_relaxed); }
    long served() const { return served_; }

private:
    long limit_ = 1L << 40;
    long offset_ = 3;
#ifdef FIX
    alignas(64)
#endif
    std::atomic<long> served_{0};
};

static Adder adder;
static Service* volatile service = &adder;

int main() {
    std::vector<std::thread> threads;
    std::atomic<long> total{0};
    threads.emplace_back([] {
        for (int i = 0; i < 200000000; i++)
            adder.note();
    });
    for (int thread = 0; thread < 2; thread++)
        threads.emplace_back([&total] {
            long sum = 0;
            for (long i = 0; i < 20000000; i++)
                sum += service->answer(i);
            total += sum;
        });
    for (auto& thread : threads)
        thread.join();
    std::printf("%ld %ld\n", total.load(), adder.served());
}
