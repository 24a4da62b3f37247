/* An allocator with operators new and delete of its own, as jemalloc, tcmalloc and mimalloc have them: they do not call malloc.
 * One is reached from another by a jump. Blocks lie one behind another, and none is used again.
 *
 *     c++ -O1 -shared -fPIC own_allocator.cpp -o own_allocator.so
 */
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>
#include <sys/mman.h>

enum : size_t { ROOM = size_t(8) << 30, MOST = size_t(1) << 30, HEADER = 16 };

static std::atomic<char *> next;

/* The bytes in front of a block tell its size. */
static void *take(size_t size, size_t alignment)
{
    if (size > MOST)
        return nullptr;
    if (!next.load()) {
        char *room = (char *)mmap(nullptr, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        char *none = nullptr;
        next.compare_exchange_strong(none, room);
    }
    if (alignment < HEADER)
        alignment = HEADER;
    char *from = next.fetch_add((size + HEADER + alignment + HEADER) / HEADER * HEADER);
    size_t block = ((size_t)from + HEADER + alignment - 1) / alignment * alignment;
    *(size_t *)(block - HEADER) = size;
    return (void *)block;
}

extern "C" {
void *malloc(size_t size) { return take(size, HEADER); }
void *calloc(size_t number, size_t size) { return take(number * size, HEADER); }
void free(void *) {}
void *aligned_alloc(size_t alignment, size_t size) { return take(size, alignment); }
void *memalign(size_t alignment, size_t size) { return take(size, alignment); }
void *valloc(size_t size) { return take(size, 4096); }
void *pvalloc(size_t size) { return take(size, 4096); }
int posix_memalign(void **place, size_t alignment, size_t size)
{
    *place = take(size, alignment);
    return *place ? 0 : ENOMEM;
}
void *realloc(void *block, size_t size)
{
    void *copy = take(size, HEADER);
    if (block && copy) {
        size_t before = *(size_t *)((char *)block - HEADER);
        memcpy(copy, block, before < size ? before : size);
    }
    return copy;
}
void *reallocarray(void *block, size_t number, size_t size) { return realloc(block, number * size); }
}

void *operator new(size_t size)
{
    void *block = take(size, HEADER);
    if (!block)
        throw std::bad_alloc();
    return block;
}
void *operator new[](size_t size) { return operator new(size); }
void *operator new(size_t size, std::align_val_t alignment)
{
    void *block = take(size, (size_t)alignment);
    if (!block)
        throw std::bad_alloc();
    return block;
}
void operator delete(void *) noexcept {}
void operator delete[](void *block) noexcept { operator delete(block); }
void operator delete(void *block, size_t) noexcept { operator delete(block); }
void operator delete[](void *block, size_t) noexcept { operator delete(block); }
void operator delete(void *block, std::align_val_t) noexcept { operator delete(block); }
void operator delete(void *block, size_t, std::align_val_t) noexcept { operator delete(block); }
