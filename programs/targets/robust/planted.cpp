/* Blocks that are allocated at 200 places in 20 ways, also through wrappers, recursion and frames of varying size, by one or
 * more threads. After each allocation the agent is asked who has allocated the block, and the answer is compared with
 * backtrace(3), which unwinds on its own. Alone there is no agent, and nothing is compared.
 *
 *     c++ -O1 -pthread planted.cpp -o planted && ./planted THREADS ROUNDS [throw]
 */
#include <alloca.h>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <execinfo.h>
#include <malloc.h>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#define APART __attribute__((noinline, noclone))

enum { MOST = 64 };

/* Fills in the path that has allocated the block around an address, and the block: returns its depth, negative where it goes on. */
typedef int Ask(uintptr_t address, uintptr_t *frames, uintptr_t block[2]);
static Ask *ask;

static std::atomic<long> compared, cut, unknown, wrong;

static void complain(const char *what, int kind, const uintptr_t *frames, int depth, void *const *expected, int count)
{
    if (wrong.fetch_add(1) >= 5)
        return;
    fprintf(stderr, "%s in way %d\n", what, kind);
    for (int i = 0; i < depth; i++)
        fprintf(stderr, "  named %lx\n", (unsigned long)frames[i]);
    for (int i = 0; i < count; i++)
        fprintf(stderr, "  called %lx\n", (unsigned long)expected[i]);
}

/* Is a path from one of its frames on the expected one, or if it is not whole, the beginning of it? */
static bool continues(const uintptr_t *frames, int depth, void *const *expected, int count, bool whole)
{
    uintptr_t here = (uintptr_t)expected[0];
    if (frames[0] > here || here - frames[0] > 400 || depth > count || (whole && depth != count))
        return false;
    for (int i = 1; i < depth; i++)
        if (frames[i] != (uintptr_t)expected[i])
            return false;
    return true;
}

/* Called by the function that has allocated `block`. */
static inline __attribute__((always_inline)) void check(int kind, void *block, size_t size)
{
    if (!ask)
        return;
    void *expected[MOST];
    int count = backtrace(expected, MOST);
    uintptr_t frames[MOST], found[2] = {0, 0};
    int depth = ask((uintptr_t)block + size - 1, frames, found);
    bool whole = depth > 0;
    depth = abs(depth);
    compared++;
    if (depth == 0) {
        unknown++;
        return;
    }
    /* A map's block has more than the value in it. */
    if ((kind != 19 && found[0] != (uintptr_t)block) || found[0] + found[1] < (uintptr_t)block + size)
        return complain("another block", kind, frames, depth, expected, count);
    /* One of its frames is this function's, where return addresses are near each other; all further ones are the same. */
    int own = 0;
    while (own < depth && !continues(frames + own, depth - own, expected, count, whole))
        own++;
    if (own == depth)
        return complain("another path", kind, frames, depth, expected, count);
    cut += !whole;
}

extern "C" APART void *xmalloc(size_t size)
{
    void *block = malloc(size);
    if (!block)
        abort();
    return block;
}

extern "C" APART void *xstrdup(const char *text)
{
    return strcpy((char *)xmalloc(strlen(text) + 1), text);
}

struct Node {
    Node *next;
    long value[3];
    Node() : next(nullptr), value() {}
};

template <int N> APART void plant(int round)
{
    size_t size = 1 + (N * 7 + round * 13) % 300;
    std::string text(size, 'x');
    void *block = nullptr;
    switch (N % 20) {
    case 0: block = malloc(size); break;
    case 1: block = calloc(size, 3); break;
    case 2: block = realloc(nullptr, size); break;
    case 3: block = realloc(xmalloc(5), size + 100); break;
    case 4: block = aligned_alloc(64, 64 * size); break;
    case 5: if (posix_memalign(&block, 32, size)) abort(); break;
    case 6: block = strdup(text.c_str()); break;
    case 7: block = xmalloc(size); break;
    case 8: block = xstrdup(text.c_str()); break;
    case 9: block = reallocarray(nullptr, size, 2); break;
    case 10: block = memalign(128, size); break;
    case 11: block = valloc(size); break;
    case 12: block = malloc(size * 1000); break;
    case 13: block = malloc(size * 10000 + 300000); break;
    case 14: block = realloc(malloc(400000), 500000 + size); break;
    case 15: {
        /* The frame's size varies. */
        char *room = (char *)alloca(16 + round % 5 * 1000);
        room[0] = 1;
        __asm__ volatile("" : : "r"(room) : "memory");
        block = malloc(size);
        break;
    }
    case 16: {
        struct alignas(N / 20 % 2 ? 64 : 8) Aligned : Node {};
        auto node = new Aligned;
        check(16, node, sizeof *node);
        delete node;
        return;
    }
    case 17: {
        auto array = new long[size];
        check(17, array, size * sizeof(long));
        delete[] array;
        return;
    }
    case 18: {
        std::vector<long> vector;
        vector.reserve(size);
        check(18, vector.data(), size * sizeof(long));
        return;
    }
    case 19: {
        std::map<long, long> map;
        auto place = map.emplace(size, 1).first;
        check(19, &place->second, sizeof(long));
        return;
    }
    }
    check(N % 20, block, size);
    free(block);
}

typedef void Plant(int);
template <int... N> static constexpr std::array<Plant *, sizeof...(N)> all(std::integer_sequence<int, N...>)
{
    return {plant<N>...};
}
static constexpr auto plants = all(std::make_integer_sequence<int, 200>());

/* Calls that leave a frame behind each. */
static volatile int left;
static APART void by_one(int number, int round) { plants[number](round); left = 1; }
static APART void by_other(int number, int round) { plants[number](round); left = 2; }
static APART void by_both(int number, int round)
{
    if (round & 1)
        by_one(number, round);
    else
        by_other(number, round);
    left = 3;
}
static APART void down(int depth, int number, int round)
{
    if (depth == 0)
        plants[number](round);
    else if (round >> depth & 1)
        down(depth - 1, number, round);
    else
        down(depth - 1, number, round * 3);
    left = 4;
}

static void work(int first, int rounds)
{
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < 200; i++) {
            int number = (first + i) % 200;
            plants[number](round);
            by_both(number, round);
            if (i % 10 == 0)
                down(round % 9, number, round);
        }
}

int main(int argc, char **argv)
{
    /* More than there is: an exception, through all that follows allocations. */
    if (argc > 3)
        try {
            operator delete(operator new(PTRDIFF_MAX));
            return 2;
        } catch (const std::bad_alloc &) {
        }
    int threads = argc > 1 ? atoi(argv[1]) : 1, rounds = argc > 2 ? atoi(argv[2]) : 3;
    ask = (Ask *)dlsym(RTLD_DEFAULT, "carom_test_allocated_by");
    void *warm[MOST];
    backtrace(warm, MOST);
    std::vector<std::thread> others;
    for (int i = 1; i < threads; i++)
        others.emplace_back(work, i * 50, rounds);
    work(0, rounds);
    for (auto &other : others)
        other.join();
    fprintf(stderr, "compared %ld cut %ld unknown %ld wrong %ld\n", compared.load(), cut.load(), unknown.load(), wrong.load());
    return wrong.load() != 0;
}
