// Fills an array with pseudorandom numbers and sorts it with the C++ library's parallel mode and a number of threads: figure 4.3 of
// A. Sterz's thesis. A second argument is ignored. Prints a checksum, which depends on the size alone.
//
//     c++ -g -O2 -fopenmp parallel_sort.cpp -o parallel_sort && ./parallel_sort THREADS [IGNORED] [MEBIBYTES]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <omp.h>
#include <parallel/algorithm>
#include <random>
#include <vector>

int main(int argc, char **argv)
{
    const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
    const std::size_t mebibytes = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 4;
    if (threads < 1 || mebibytes < 1)
        return 1;
    omp_set_num_threads(threads);
    omp_set_dynamic(0);
    std::vector<std::uint32_t> numbers(mebibytes << 18);
    std::minstd_rand random(1);
    for (auto &number : numbers)
        number = random();
    __gnu_parallel::sort(numbers.begin(), numbers.end(), __gnu_parallel::parallel_tag(threads));
    std::uint64_t sum = 0;
    for (std::size_t rank = 0; rank < numbers.size(); rank++)
        sum += rank * numbers[rank];
    std::printf("%016llx\n", static_cast<unsigned long long>(sum));
}
