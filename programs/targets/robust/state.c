/* The program's processor state is preserved: flags, red zone, vectors, modes, string instructions, errno. */
#include "robust.h"
#include <immintrin.h>
#include <sys/stat.h>

enum { TRAP_FLAG = 0x100, MS = 150 };

/* pushf stores the flags where the program can read them. */
static void flags(void)
{
    long end = thread_ms() + MS;
    do {
        for (int i = 0; i < 5000; i++) {
            unsigned long before, after;
            __asm__ volatile("sub $128, %%rsp; pushf; popq %0; pushf; popf; pushf; popq %1; add $128, %%rsp"
                             : "=r"(before), "=r"(after)::"cc", "memory");
            NEED(!(before & TRAP_FLAG) && !(after & TRAP_FLAG));
        }
    } while (thread_ms() < end);
}

/* Below the stack pointer, as leaf functions use it. */
__attribute__((naked, noinline)) static unsigned long red_zone(unsigned long seed, unsigned long times)
{
    __asm__ volatile("lea -8(%rsp), %r8\n"
                     "1: mov %rdi, -8(%rsp)\n"
                     "mov %rdi, -64(%rsp)\n"
                     "mov %rdi, -128(%rsp)\n"
                     "mov -8(%rsp), %rax\n"
                     "xor -64(%rsp), %rax\n"
                     "xor %rdi, %rax\n"
                     "xor -128(%rsp), %rax\n"
                     "jnz 2f\n"
                     "add $1, %rdi\n"
                     "sub $1, %rsi\n"
                     "jnz 1b\n"
                     "2: ret\n");
}

static void red_zones(void)
{
    long end = thread_ms() + MS;
    do {
        NEED(red_zone(12345, 50000) == 0);
    } while (thread_ms() < end);
}

static void strings(void)
{
    static _Thread_local unsigned char from[70000], to[70000];
    long end = thread_ms() + MS;
    for (unsigned i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)(i * 7);
    do {
        void *destination = to;
        const void *source = from;
        size_t count = sizeof from;
        __asm__ volatile("rep movsb" : "+D"(destination), "+S"(source), "+c"(count)::"memory");
        NEED(count == 0 && destination == to + sizeof to && !memcmp(from, to, sizeof from));
        destination = to;
        count = sizeof to / 8;
        __asm__ volatile("rep stosq" : "+D"(destination), "+c"(count) : "a"(0x1122334455667788) : "memory");
        NEED(count == 0 && to[0] == 0x88 && to[sizeof to - 8] == 0x88);
        destination = to + 4095;
        count = 4096;
        __asm__ volatile("std; rep stosb; cld" : "+D"(destination), "+c"(count) : "a"(3) : "memory");
        NEED(count == 0 && to[0] == 3 && to[4095] == 3 && to[4096] == 0x88);
    } while (thread_ms() < end);
}

__attribute__((target("avx2"))) static void avx(void)
{
    long end = thread_ms() + MS;
    __m256i sum = _mm256_setzero_si256();
    const __m256i ones = _mm256_set_epi64x(4, 3, 2, 1);
    long rounds = 0;
    do {
        for (int i = 0; i < 20000; i++, rounds++)
            __asm__ volatile("vpaddq %1, %0, %0" : "+x"(sum) : "x"(ones));
    } while (thread_ms() < end);
    long lanes[4];
    _mm256_storeu_si256((__m256i *)lanes, sum);
    for (int i = 0; i < 4; i++)
        NEED(lanes[i] == rounds * (i + 1));
}

__attribute__((target("avx512f,avx512bw"))) static void avx512(void)
{
    long end = thread_ms() + MS;
    long rounds = 0, lanes[8];
    unsigned long mask = 0;
    __asm__ volatile("vpxorq %%zmm30, %%zmm30, %%zmm30; mov $0xa5, %%eax; kmovq %%rax, %%k5;"
                     "mov $1, %%eax; vpbroadcastq %%rax, %%zmm31" ::: "rax", "xmm30", "xmm31", "k5");
    do {
        for (int i = 0; i < 20000; i++, rounds++)
            __asm__ volatile("vpaddq %%zmm31, %%zmm30, %%zmm30 %{%%k5%}" ::: "xmm30");
    } while (thread_ms() < end);
    __asm__ volatile("vmovdqu64 %%zmm30, %0; kmovq %%k5, %1; vzeroupper" : "=m"(lanes), "=r"(mask));
    NEED(mask == 0xa5);
    for (int i = 0; i < 8; i++)
        NEED(lanes[i] == (0xa5 >> i & 1 ? rounds : 0));
}

/* Rounding toward zero, flush to zero, x87 in single precision: none of them the default. */
static void modes(void)
{
    unsigned mxcsr = 0xff80, now;
    unsigned short control = 0x0c7f, had;
    long end = thread_ms() + MS;
    __asm__ volatile("ldmxcsr %0; fldcw %1" ::"m"(mxcsr), "m"(control));
    __asm__ volatile("fld1; fldpi");
    do {
        for (int i = 0; i < 5000; i++) {
            __asm__ volatile("stmxcsr %0; fnstcw %1" : "=m"(now), "=m"(had));
            NEED((now & 0xffc0) == (mxcsr & 0xffc0) && had == control);
            __asm__ volatile("fld %st(1); fmul %st(1), %st; fstp %st");
        }
    } while (thread_ms() < end);
    double pi, one;
    __asm__ volatile("fstpl %0; fstpl %1" : "=m"(pi), "=m"(one));
    NEED(pi > 3.14159 && pi < 3.14160 && one == 1.0);
    mxcsr = 0x1f80;
    control = 0x037f;
    __asm__ volatile("ldmxcsr %0; fldcw %1" ::"m"(mxcsr), "m"(control));
}

static void errnos(void)
{
    long end = thread_ms() + MS;
    struct stat status;
    do {
        for (int i = 0; i < 300; i++) {
            NEED(stat("/no/such/file", &status) == -1 && errno == ENOENT);
            NEED(close(-1) == -1 && errno == EBADF);
            errno = 4711 + i;
            for (int j = 0; j < 200; j++)
                robust_sink++;
            NEED(errno == 4711 + i);
        }
    } while (thread_ms() < end);
}

static void *all(void *unused)
{
    flags();
    red_zones();
    strings();
    if (__builtin_cpu_supports("avx2"))
        avx();
    if (__builtin_cpu_supports("avx512bw"))
        avx512();
    modes();
    errnos();
    return unused;
}

int main(void)
{
    pthread_t thread;
    NEED(!pthread_create(&thread, NULL, all, NULL));
    all(NULL);
    pthread_join(thread, NULL);
    printf("kept\n");
    return 0;
}
