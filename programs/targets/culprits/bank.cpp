// Transfers between eight accounts, each with its mutex.
#include <cstdio>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

struct Account {
    std::mutex mutex;
    long balance = 1000;
};

class Bank {
public:
    explicit Bank(size_t accounts) : accounts_(accounts) {}

    void transfer(size_t from, size_t to, long amount) {
        if (from == to)
            return;
        std::scoped_lock lock(accounts_[from].mutex, accounts_[to].mutex);
        accounts_[from].balance -= amount;
        accounts_[to].balance += amount;
    }

    long total() {
        long sum = 0;
        for (auto& account : accounts_)
            sum += account.balance;
        return sum;
    }

private:
    std::vector<Account> accounts_;
};

int main() {
    Bank bank(8);
    std::vector<std::thread> tellers;
    for (int teller = 0; teller < 4; teller++)
        tellers.emplace_back([&bank, teller] {
            std::minstd_rand random(teller + 1);
            for (int i = 0; i < 3000000; i++)
                bank.transfer(random() % 8, random() % 8, random() % 100);
        });
    for (auto& teller : tellers)
        teller.join();
    std::printf("%ld\n", bank.total());
}
