// What the truth test steps through: integer code as compilers emit it, string instructions, calls, and one
// instruction of each class whose memory operand is not simply what is written in it. Runs until killed.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static uint64_t table[256];
static char text[4096], copy[4096];
static _Alignas(64) uint8_t area[4096];
static _Alignas(64) uint32_t words[64];
static _Alignas(16) unsigned __int128 wide;

static NOINLINE uint64_t hash(const char *s, size_t n) {
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < n; i++) h = (h ^ (uint8_t)s[i]) * 1099511628211u, h ^= h >> 29;
    return h;
}

static NOINLINE int compare(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static NOINLINE uint64_t fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

static NOINLINE uint64_t arithmetic(uint64_t x) {
    uint32_t a = (uint32_t)x;
    int16_t b = (int16_t)(x >> 7);
    int8_t c = (int8_t)(x >> 13);
    uint64_t r = x / (a | 1) + x % 1000003 + (uint64_t)((int64_t)x / (b | 1));
    r += __builtin_bswap32(a) ^ __builtin_popcountll(x) ^ __builtin_ctzll(x | 1) ^ __builtin_clzll(x | 1);
    r = (r << (x & 63)) | (r >> (-x & 63));
    a = (a >> (c & 31)) + (a << 3);
    b = (int16_t)(b * c - (b >> 2));
    __int128 p = (__int128)x * (int64_t)r;
    return r + a + (uint64_t)b + (uint64_t)(p >> 64) + (c < b ? 3 : 5);
}

static NOINLINE void strings(uint64_t n) {
    uint64_t size = n % 40;
    void *d = copy, *s = text;
    uint64_t count = size;
    __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(count)::"memory");
    count = size / 4, d = copy;
    __asm__ volatile("rep stosl" : "+D"(d), "+c"(count) : "a"(n) : "memory");
    count = size, d = copy, s = text;
    __asm__ volatile("repe cmpsb" : "+D"(d), "+S"(s), "+c"(count)::"memory", "cc");
    count = size, d = text;
    __asm__ volatile("repne scasb" : "+D"(d), "+c"(count) : "a"(0) : "memory", "cc");
    s = text;
    __asm__ volatile("lodsq; lodsb" : "+S"(s)::"rax", "memory");
    d = copy + 64, s = text + 64, count = size / 8;
    __asm__ volatile("std; rep movsq; cld" : "+D"(d), "+S"(s), "+c"(count)::"memory");
    d = copy, s = text;
    __asm__ volatile("movsw; stosb; scasw; cmpsl" : "+D"(d), "+S"(s) : "a"(n) : "memory", "cc");
}

static NOINLINE void classes(uint64_t n) {
    uint64_t a = n, b = n * 3, bit = n % 200;
    // The stack, with operands in memory and addresses relative to the moving stack pointer.
    __asm__ volatile("lea -256(%%rsp), %%rsp\n push %0\n push 8(%%rsp)\n pop (%%rsp)\n pop %0\n pushw %%ax\n popw %%ax\n"
                     "enter $32, $0\n leave\n lea 256(%%rsp), %%rsp" : "+m"(table[3])::"memory");
    __asm__ volatile("lock addq %1, %0\n lock incl %0\n lock xaddq %1, %0\n xchgq %1, %0\n notq %0\n negl %0"
                     : "+m"(table[4]), "+r"(a)::"memory", "cc");
    __asm__ volatile("lock cmpxchgq %2, %0" : "+m"(table[5]), "+a"(a) : "r"(b) : "memory", "cc");
    __asm__ volatile("mov (%1), %%rax\n lock cmpxchgq %2, (%1)" ::"m"(table[5]), "r"(&table[5]), "r"(b) : "rax", "memory", "cc");
    __asm__ volatile("lock cmpxchg16b %0" : "+m"(wide)::"rax", "rbx", "rcx", "rdx", "memory", "cc");
    __asm__ volatile("bts %1, %0\n btrl %k1, %0\n btcq $5, %0\n bt %1, %0" : "+m"(area[512]) : "r"(bit) : "memory", "cc");
    __asm__ volatile("xlat" : "+a"(a) : "b"(text) : "memory");
    __asm__ volatile("mov %%fs:0, %0\n mov %0, %1\n mov (%0), %0" : "=r"(a), "=m"(table[6])::"memory");
    __asm__ volatile("shlq $3, %0\n rorl $7, %0\n shld $9, %1, %0\n adcq %1, %0\n sbbl $7, %0\n rclq %0"
                     : "+m"(table[7]) : "r"(b) : "memory", "cc");
    __asm__ volatile("cmovsq %1, %0" : "+r"(a) : "m"(table[8]) : "cc");
    __asm__ volatile("sets %0\n setc %0" : "=m"(area[7])::"memory");
    __asm__ volatile("fxsave %0" : "=m"(*(char(*)[512])area)::"memory");
    __asm__ volatile("movb $7, %%cl\n1: decb %0\n loop 1b\n jrcxz 2f\n nop\n2:" : "+m"(area[9])::"rcx", "cc", "memory");
    __asm__ volatile("fldt %0\n fstpt %1\n fnstcw %2" ::"m"(area[32]), "m"(area[1024]), "m"(area[2048]) : "memory");
}

__attribute__((target("avx2"))) static NOINLINE void avx2(uint64_t n) {
    uint32_t index[8], mask[8];
    for (int i = 0; i < 8; i++) index[i] = (uint32_t)(n * 7 + i * 5) % 64, mask[i] = (uint32_t)(n << (i + 24));
    __asm__ volatile("vmovdqu %1, %%ymm1\n vmovdqu %2, %%ymm2\n vpgatherdd %%ymm2, (%3,%%ymm1,4), %%ymm3\n"
                     "vmovdqu %2, %%ymm2\n vpmaskmovd %%ymm3, %%ymm2, %0\n vpmaskmovd %0, %%ymm2, %%ymm4\n"
                     "mov %4, %%rdi\n vmaskmovdqu %%xmm2, %%xmm3\n vextracti128 $1, %%ymm1, %0\n vzeroupper"
                     : "=m"(*(char(*)[32])(area + 3072)) : "m"(index), "m"(mask), "r"(words), "r"(area + 3200)
                     : "rdi", "xmm1", "xmm2", "xmm3", "xmm4", "memory");
}

__attribute__((target("avx512f,avx512bw,avx512vl"))) static NOINLINE void avx512(uint64_t n) {
    uint32_t index[16];
    for (int i = 0; i < 16; i++) index[i] = (uint32_t)(n + i * 3) % 64;
    __asm__ volatile("kmovq %2, %%k1\n vmovdqu32 %1, %%zmm17\n vmovdqu8 %0, %%zmm18%{%%k1%}%{z%}\n"
                     "vmovdqu8 %%zmm17, %0%{%%k1%}\n vpcompressd %%zmm17, %0%{%%k1%}\n vpexpandd %0, %%zmm19%{%%k1%}\n"
                     "kmovq %2, %%k2\n vpscatterdd %%zmm18, (%3,%%zmm17,4)%{%%k2%}\n kmovq %2, %%k2\n"
                     "vpgatherdd (%3,%%zmm17,4), %%zmm20%{%%k2%}\n vpmovdb %%zmm20, %0%{%%k1%}\n"
                     "vmovss %%xmm17, %0%{%%k1%}\n vpaddd %0, %%zmm17, %%zmm18%{%%k1%}"
                     : "+m"(*(char(*)[64])(area + 3584)) : "m"(index), "r"(n * 0x9e3779b97f4a7c15u), "r"(words)
                     : "k1", "k2", "memory");
}

int main(void) {
    for (unsigned i = 0; i < sizeof text; i++) text[i] = (char)(i * 31 + 7);
    for (uint64_t n = 1;; n++) {
        table[n % 256] += hash(text, n % 100) + arithmetic(n * 0x9e3779b97f4a7c15u);
        strings(n);
        classes(n);
        if (__builtin_cpu_supports("avx2")) avx2(n);
        if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) avx512(n);
        table[n % 256] += fib(n % 8);
        if (n % 8 == 0) qsort(table + n % 128, 24, sizeof *table, compare);
        char *block = malloc(n % 500 + 1);
        memset(block, (int)n, n % 500 + 1);
        memcpy(copy, block, n % 500);
        table[9] += strlen(text + n % 64) + (uint64_t)memcmp(copy, text, n % 300);
        free(block);
    }
}
