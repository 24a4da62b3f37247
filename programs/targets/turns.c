/* Two threads write all complex numbers of an array in turns, each number on a cache line of its own. The first of the two stores
 * takes the line from the other thread; the second finds it there. (What misled traces of NAS FT in the hybrid tracing study.)
 *
 *     cc -g -O1 -pthread turns.c -o turns && ./turns [ROUNDS]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { NUMBERS = 1000 };

static struct number {
    _Alignas(64) volatile double real;
    volatile double imag;
} numbers[NUMBERS];
static pthread_barrier_t turn;
static long rounds;

static void *work(void *mine)
{
    for (long round = 0; round < rounds; round++) {
        if (round % 2 == (long)mine)
            for (int i = 0; i < NUMBERS; i++) {
                numbers[i].real = round;
                numbers[i].imag = round;
            }
        pthread_barrier_wait(&turn);
    }
    return NULL;
}

int main(int count, char **words)
{
    pthread_t threads[2];
    rounds = count > 1 ? atol(words[1]) : 200;
    pthread_barrier_init(&turn, NULL, 2);
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%g\n", numbers[NUMBERS - 1].imag);
    return 0;
}
