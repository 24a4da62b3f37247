// A lock of one's own: an int that is exchanged for 1 until it was 0.
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#ifndef TIMES
#define TIMES 1
#endif

static int locked;
static long balance __attribute__((aligned(64)));

static void deposit(long amount) {
    while (__atomic_exchange_n(&locked, 1, __ATOMIC_ACQUIRE)) sched_yield();
    balance += amount;
    __atomic_store_n(&locked, 0, __ATOMIC_RELEASE);
}

static void *pay(void *unused) {
    (void)unused;
#ifdef FIX
    volatile long sum = 0;
    for (int i = 0; i < 200000000; i++) sum += i % 5;
    deposit(sum);
#else
    for (int i = 0; i < TIMES * 20000000; i++) deposit(i % 5);
#endif
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, pay, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("%ld\n", balance);
}
