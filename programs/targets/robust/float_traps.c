/* Unmasks all exceptions of SSE and of the x87, rounds upwards, checks alignment, and sets the direction flag. Computes without
 * raising an exception: code that runs in between must raise none either, and the control registers keep their values. */
#include "robust.h"
#include <xmmintrin.h>

static long words[4096];

__attribute__((noinline)) static long work(long rounds)
{
    long sum = 0;
    for (long round = 0; round < rounds; round++)
        for (int i = 0; i < 4096; i++) {
            words[i] += round;
            sum += words[(i * 7) & 4095];
        }
    return sum;
}

static void *unmasked(void *unused)
{
    unsigned short control = 0x0840; /* rounding upwards, nothing masked */
    unsigned short before, after;
    unsigned sse = 0x4000;
    _mm_setcsr(sse);
    __asm__ volatile("fnstcw %0; fldcw %1" : "=m"(before) : "m"(control));
    __asm__ volatile("pushfq; orl $0x40400, (%%rsp); popfq" ::: "cc", "memory");
    long sum = work(2000);
    unsigned long flags;
    __asm__ volatile("pushfq; pop %0; push $2; popfq" : "=r"(flags)::"cc", "memory");
    __asm__ volatile("fnstcw %0; fldcw %1" : "=m"(after) : "m"(before));
    unsigned sse_after = _mm_getcsr();
    _mm_setcsr(0x1f80);
    NEED((flags & 0x40400) == 0x40400);
    NEED(after == control && sse_after == sse);
    robust_sink += (unsigned long)sum;
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        NEED(pthread_create(&threads[i], NULL, unmasked, NULL) == 0);
    unmasked(NULL);
    for (int i = 0; i < 2; i++)
        NEED(pthread_join(threads[i], NULL) == 0);
    puts("ok");
    return 0;
}
