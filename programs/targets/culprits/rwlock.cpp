// Readers that change the lock's count of readers, and nothing else.
#include <cstdio>
#include <map>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

static std::shared_mutex guard;
static std::map<int, std::string> settings;

int main() {
    for (int i = 0; i < 100; i++) settings[i] = "value";
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([] {
            size_t bytes = 0;
            for (int i = 0; i < 10000000; i++) {
                std::shared_lock lock(guard);
                bytes += settings.find(i % 100)->second.size();
            }
            printf("%zu\n", bytes);
        });
    for (auto &thread : threads) thread.join();
}
