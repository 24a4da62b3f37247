/* Loads two words and stores a third in each of as many iterations as the argument says. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    static long words[8] __attribute__((aligned(64)));
    long left = argc > 1 ? atol(argv[1]) : 1000;
    __asm__ volatile("1:\n\t"
                     "movq (%1), %%rax\n\t"
                     "movq 8(%1), %%rdx\n\t"
                     "movq %%rdx, 16(%1)\n\t"
                     "decq %0\n\t"
                     "jnz 1b"
                     : "+r"(left)
                     : "r"(words)
                     : "rax", "rdx", "memory");
    printf("%ld\n", left);
    return 0;
}
