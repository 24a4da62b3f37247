/* thread_data: the number of instructions in the destructors of a thread's keys is known: two instructions LOOPS times in each
 * of two rounds, and a few more. */
#include "robust.h"

enum { LOOPS = 10000000 };
static pthread_key_t key;

static void count(void)
{
    long left = LOOPS;
    __asm__ volatile("1: dec %0; jnz 1b" : "+r"(left)::"cc");
}

static void destroy(void *round)
{
    count();
    if (round == (void *)1)
        NEED(!pthread_setspecific(key, (void *)2));
}

static void *work(void *unused)
{
    NEED(!pthread_setspecific(key, (void *)1));
    return unused;
}

int main(void)
{
    NEED(!pthread_key_create(&key, destroy));
    pthread_t thread;
    NEED(!pthread_create(&thread, NULL, work, NULL));
    NEED(!pthread_join(thread, NULL));
    puts("done");
    return 0;
}
