// Templates for the compiler to expand; as a program: exceptions, sorting, hashing, regular expressions.
#include <algorithm>
#include <iostream>
#include <map>
#include <numeric>
#include <random>
#include <regex>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

template <int N> struct Tower {
    std::map<int, std::vector<std::string>> floors;
    static long climb(long x)
    {
        if (x % 7 == N % 7)
            throw std::runtime_error("floor " + std::to_string(N));
        return Tower<N - 1>::climb(x * 3 + N);
    }
};
template <> struct Tower<0> {
    static long climb(long x) { return x; }
};

int main()
{
    std::mt19937_64 random(1);
    std::vector<unsigned long> numbers(300000);
    std::generate(numbers.begin(), numbers.end(), random);
    std::sort(numbers.begin(), numbers.end());
    std::unordered_map<std::string, long> caught;
    for (long x = 0; x < 20000; x++) {
        try {
            caught["top"] += Tower<40>::climb(x) & 1;
        } catch (const std::runtime_error &error) {
            caught[error.what()]++;
        }
    }
    std::map<std::string, long> sorted(caught.begin(), caught.end());
    std::regex odd("floor [0-9]*[13579]");
    for (const auto &[name, count] : sorted)
        std::cout << name << ' ' << count << (std::regex_match(name, odd) ? " odd\n" : "\n");
    std::cout << std::accumulate(numbers.begin(), numbers.end(), 0ul) << ' ' << numbers[150000] << '\n';
}
