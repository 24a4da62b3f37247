/*
 * Threads that wait for each other in all ways of POSIX. Prints how often each was done with each object: the word of a trace,
 * the object's address (0: any), and the number. First, where the data is that one of the locks guards, and that lock.
 *
 *     cc -g -O1 -pthread wait_for_threads.c -o wait_for_threads && ./wait_for_threads [ROUNDS]
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 3, BARRIERS = 5 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t ready_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready_condition = PTHREAD_COND_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static pthread_spinlock_t spin;

static long rounds, shared, spun;
static int ready;

static void check(int is_right, const char *what)
{
    if (!is_right) {
        fprintf(stderr, "%s\n", what);
        exit(1);
    }
}

static void *work(void *argument)
{
    for (long round = 0; round < rounds; round++) {
        check(pthread_mutex_lock(&mutex) == 0, "lock");
        shared++;
        check(pthread_mutex_unlock(&mutex) == 0, "unlock");
        pthread_rwlock_rdlock(&table);
        pthread_rwlock_unlock(&table);
    }
    int serial = 0;
    for (int round = 0; round < BARRIERS; round++)
        serial += pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
    pthread_rwlock_wrlock(&table);
    pthread_rwlock_unlock(&table);
    pthread_spin_lock(&spin);
    spun++;
    pthread_spin_unlock(&spin);
    /* No event: another thread has it. */
    errno = 7;
    check(pthread_mutex_trylock(&held) == EBUSY && errno == 7, "trylock");
    pthread_mutex_lock(&ready_mutex);
    ready++;
    pthread_cond_signal(&ready_condition);
    pthread_mutex_unlock(&ready_mutex);
    sem_post(&semaphore);
    *(int *)argument = serial;
    return argument;
}

int main(int argc, char **argv)
{
    rounds = argc > 1 ? atol(argv[1]) : 100;
    pthread_barrier_init(&barrier, NULL, THREADS);
    sem_init(&semaphore, 0, 0);
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    check(pthread_mutex_trylock(&held) == 0, "trylock of a free lock");

    pthread_spin_lock(&spin);

    pthread_t threads[THREADS];
    int serials[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, &serials[i]);

    /* All wait for it: the GNU C library has it at less than 0 by as many as do. Another one may not say. */
    for (int i = 0; spin > -THREADS && i < 1000; i++)
        usleep(1000);
    check(spun == 0, "spin lock");
    pthread_spin_unlock(&spin);

    int waits = 0;
    pthread_mutex_lock(&ready_mutex);
    while (ready < THREADS) {
        waits++;
        check(pthread_cond_wait(&ready_condition, &ready_mutex) == 0, "wait");
    }
    struct timespec past = {0, 0};
    check(pthread_cond_timedwait(&never, &ready_mutex, &past) == ETIMEDOUT, "wait for too long");
    pthread_cond_broadcast(&never);
    pthread_mutex_unlock(&ready_mutex);
    for (int i = 0; i < THREADS; i++)
        check(sem_wait(&semaphore) == 0, "semaphore");
    errno = 7;
    check(sem_trywait(&semaphore) == -1 && errno == EAGAIN, "empty semaphore");
    pthread_mutex_unlock(&held);

    int serial = 0;
    for (int i = 0; i < THREADS; i++) {
        void *result;
        check(pthread_join(threads[i], &result) == 0 && result == &serials[i], "join");
        serial += serials[i];
    }
    check(serial == BARRIERS && shared == THREADS * rounds && spun == THREADS, "an object did not work");

    long locks = THREADS * rounds;
    printf("guarded %p %ld\n", (void *)&shared, (long)&mutex);
    printf("lock %p %ld\n", (void *)&mutex, locks);
    printf("unlock %p %ld\n", (void *)&mutex, locks);
    printf("lock %p 1\nunlock %p 1\n", (void *)&held, (void *)&held);
    printf("readlock %p %ld\n", (void *)&table, locks);
    printf("lock %p %d\n", (void *)&table, THREADS);
    printf("unlock %p %ld\n", (void *)&table, locks + THREADS);
    /* To make a spin lock is to unlock it, in the C library of x86. */
    printf("lock %p %d\n", (void *)&spin, THREADS + 1);
    printf("arrive %p %d\n", (void *)&barrier, THREADS * BARRIERS);
    printf("depart %p %d\n", (void *)&barrier, THREADS * BARRIERS);
    printf("wait %p %d\nwake %p %d\n", (void *)&ready_condition, waits, (void *)&ready_condition, waits);
    printf("signal %p %d\n", (void *)&ready_condition, THREADS);
    printf("wait %p 1\nwake %p 0\nbroadcast %p 1\n", (void *)&never, (void *)&never, (void *)&never);
    /* A wait gives the lock back, and has it again. */
    printf("lock %p %d\n", (void *)&ready_mutex, THREADS + 1 + waits + 1);
    printf("unlock %p %d\n", (void *)&ready_mutex, THREADS + 1 + waits + 1);
    printf("post %p %d\ntake %p %d\n", (void *)&semaphore, THREADS, (void *)&semaphore, THREADS);
    printf("create 0 %d\nstart 0 %d\nfinish 0 %d\njoin 0 %d\n", THREADS, THREADS, THREADS, THREADS);
    return 0;
}
