/* One problem of a size that is given: what `carom count predict` is measured on.
 *
 *   problem_sizes sort N      quicksort of N random numbers of 4 bytes
 *   problem_sizes matmul N    product of two matrices of N by N doubles, in tiles
 *   problem_sizes graph N     breadth-first search in a random graph of N nodes and 8 N edges
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 88172645463325252u;

/* Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (2003). */
static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static void *allocated(size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory)
        exit(2);
    return memory;
}

static void quicksort(uint32_t *low, uint32_t *high)
{
    while (high - low > 16) {
        uint32_t pivot = low[(high - low) / 2], *i = low, *j = high - 1;
        for (;;) {
            while (*i < pivot)
                i++;
            while (*j > pivot)
                j--;
            if (i >= j)
                break;
            uint32_t other = *i;
            *i++ = *j;
            *j-- = other;
        }
        quicksort(low, j + 1);
        low = j + 1;
    }
    for (uint32_t *i = low + 1; i < high; i++) {
        uint32_t value = *i, *j = i;
        for (; j > low && j[-1] > value; j--)
            *j = j[-1];
        *j = value;
    }
}

static uint64_t sort(size_t n)
{
    uint32_t *numbers = allocated(n * sizeof *numbers);
    for (size_t i = 0; i < n; i++)
        numbers[i] = (uint32_t)next_random();
    quicksort(numbers, numbers + n);
    return numbers[n / 2];
}

static uint64_t matmul(size_t n)
{
    enum { TILE = 64 };
    double *a = allocated(n * n * sizeof *a), *b = allocated(n * n * sizeof *b), *c = allocated(n * n * sizeof *c);
    for (size_t i = 0; i < n * n; i++) {
        a[i] = (double)(next_random() % 8);
        b[i] = (double)(next_random() % 8);
        c[i] = 0;
    }
    for (size_t tile_k = 0; tile_k < n; tile_k += TILE)
        for (size_t tile_j = 0; tile_j < n; tile_j += TILE)
            for (size_t i = 0; i < n; i++)
                for (size_t k = tile_k; k < n && k < tile_k + TILE; k++)
                    for (size_t j = tile_j; j < n && j < tile_j + TILE; j++)
                        c[i * n + j] += a[i * n + k] * b[k * n + j];
    return (uint64_t)c[n * n / 2];
}

static uint64_t graph(size_t n)
{
    enum { DEGREE = 8 };
    uint32_t *edges = allocated(n * DEGREE * sizeof *edges), *queue = allocated(n * sizeof *queue);
    uint8_t *seen = calloc(n, 1);
    if (!seen)
        exit(2);
    for (size_t i = 0; i < n * DEGREE; i++)
        edges[i] = (uint32_t)(next_random() % n);
    size_t head = 0, tail = 0;
    queue[tail++] = 0;
    seen[0] = 1;
    while (head < tail) {
        uint32_t node = queue[head++];
        for (int edge = 0; edge < DEGREE; edge++) {
            uint32_t other = edges[(size_t)node * DEGREE + edge];
            if (!seen[other]) {
                seen[other] = 1;
                queue[tail++] = other;
            }
        }
    }
    return tail;
}

int main(int argc, char **argv)
{
    size_t n = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
    uint64_t (*problem)(size_t) = !n ? NULL : !strcmp(argv[1], "sort") ? sort : !strcmp(argv[1], "matmul") ? matmul
                                  : !strcmp(argv[1], "graph") ? graph : NULL;
    if (!problem) {
        fprintf(stderr, "usage: problem_sizes sort|matmul|graph N\n");
        return 2;
    }
    printf("%llu\n", (unsigned long long)problem(n));
    return 0;
}
