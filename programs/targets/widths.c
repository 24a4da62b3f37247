/* Accesses of known widths: in each round two loads of 8 bytes, one load of 4, and one store of 1 byte. Half of the accesses
 * are 8 bytes wide, a quarter 4 bytes and a quarter 1 byte.
 *
 *     cc -g -O2 widths.c -o widths && ./widths [ROUNDS]
 */
#include <stdio.h>
#include <stdlib.h>

static char memory[64];

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 10000000;

    for (long i = 0; i < rounds; i++)
        __asm__ volatile("movq 0(%0), %%rax\n\t"
                         "movq 8(%0), %%rax\n\t"
                         "movl 16(%0), %%eax\n\t"
                         "movb %%al, 24(%0)"
                         :
                         : "r"(memory)
                         : "rax", "memory");
    printf("%ld rounds\n", rounds);
    return 0;
}
