// Two threads run code of known counts in the program (`here`) and in a shared library (`there`). One source makes both:
//
//   gcc -shared -fPIC -DTHERE two_places.c -o libthere.so
//   gcc -pthread two_places.c libthere.so -o two_places
//
// What one call of each executes, for N rounds:
//
//                    instructions  loads    stores  branches  taken  calls  returns  atomics
//   here(N)          4 N + 2       2 N + 1  2 N     N + 1     N      0      1        N
//   there(N)         3 N + 2       1        N       2 N + 1   2 N    N      1        0
//   inner, N times   N             N        0       N         N      0      N        0
//
// Every load and store has 8 bytes.

#define FUNCTION(name) ".globl " #name "\n.type " #name ", @function\n" #name ":\n"
#define END(name) ".size " #name ", . - " #name "\n"

#ifdef THERE

__asm__(
    FUNCTION(there)
    "    mov %rdi, %rcx\n"
    "1:  call inner\n"
    "    dec %rcx\n"
    "    jnz 1b\n"
    "    ret\n"
    END(there)
    ".type inner, @function\n"
    "inner:\n"
    "    ret\n"
    END(inner));

#else

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

void here(long rounds, long *word);
void there(long rounds);

__asm__(
    FUNCTION(here)
    "    mov %rdi, %rcx\n"
    "1:  addq $1, (%rsi)\n"
    "    lock incq (%rsi)\n"
    "    dec %rcx\n"
    "    jnz 1b\n"
    "    ret\n"
    END(here));

static long rounds;

static void *work(void *unused) {
    (void)unused;
    long word = 0;
    here(rounds, &word);
    there(rounds);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[2];
    rounds = argc > 1 ? atol(argv[1]) : 1000;
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, work, NULL) != 0)
            return 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

#endif
