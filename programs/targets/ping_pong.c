/* Two threads write a word N times each. "turns": they pass it back and forth, so that every write takes its line from
   the other thread. "asleep": so they do, and who waits looks at nothing, however long. "free": each writes when it likes.
   Prints how many writes found one of the other thread's. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Alignas(64) unsigned long number;
static _Alignas(64) unsigned long writes, met[2][8];

static void *take_turns(void *who) {
    unsigned long thread = (unsigned long)who;
    for (unsigned long nth = 0; nth < writes; nth++) {
        unsigned long wanted = 2 * nth + thread;
        for (unsigned looks = 1; __atomic_load_n(&number, __ATOMIC_ACQUIRE) != wanted; looks++)
            if (looks % 10 == 0) /* The other one may wait for this processor. */
                sched_yield();
        __atomic_exchange_n(&number, wanted + 1, __ATOMIC_ACQ_REL);
    }
    met[thread][0] = writes;
    return NULL;
}

static struct {
    _Alignas(64) sem_t turn;
} sleepers[2];

static void *wake_each_other(void *who) {
    unsigned long thread = (unsigned long)who;
    for (unsigned long nth = 0; nth < writes; nth++) {
        while (sem_wait(&sleepers[thread].turn))
            ;
        __atomic_fetch_add(&number, 1, __ATOMIC_ACQ_REL);
        sem_post(&sleepers[!thread].turn);
    }
    met[thread][0] = writes;
    return NULL;
}

static void *write_freely(void *who) {
    unsigned long thread = (unsigned long)who, known = 0, others = 0;
    for (unsigned long nth = 0; nth < writes; nth++) {
        unsigned long found = __atomic_fetch_add(&number, 1, __ATOMIC_ACQ_REL);
        others += found != known;
        known = found + 1;
    }
    met[thread][0] = others;
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[2];
    if (argc != 3)
        return 2;
    writes = strtoul(argv[2], NULL, 10);
    void *(*does)(void *) = take_turns;
    if (!strcmp(argv[1], "free"))
        does = write_freely;
    else if (!strcmp(argv[1], "asleep"))
        does = wake_each_other;
    for (unsigned who = 0; who < 2; who++)
        sem_init(&sleepers[who].turn, 0, who == 0);
    for (unsigned long who = 0; who < 2; who++)
        if (pthread_create(&threads[who], NULL, does, (void *)who))
            return 1;
    for (int who = 0; who < 2; who++)
        pthread_join(threads[who], NULL);
    printf("%lu\n", met[0][0] + met[1][0]);
    return 0;
}
