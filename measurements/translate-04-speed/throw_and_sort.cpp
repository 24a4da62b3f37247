// Sorts, and throws through a few frames that have something to destroy.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

static std::uint64_t state = 88172645463325252ULL;

// xorshift64 (Marsaglia 2003).
static std::uint64_t draw()
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static int descend(int depth, const std::string &name)
{
    std::string here = name + std::to_string(depth);
    if (depth == 0)
        throw std::runtime_error(here);
    return descend(depth - 1, here) + 1;
}

int main(int argc, char **argv)
{
    std::size_t numbers = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
    int throws = argc > 2 ? std::atoi(argv[2]) : 10'000;
    std::vector<double> values(numbers);
    for (double &value : values)
        value = static_cast<double>(draw() >> 11);
    std::sort(values.begin(), values.end());
    std::size_t caught = 0;
    for (int i = 0; i < throws; i++)
        try {
            descend(6, "frame");
        } catch (const std::exception &thrown) {
            caught += std::string(thrown.what()).size();
        }
    std::printf("%.0f %.0f %zu\n", values.front(), values.back(), caught);
}
