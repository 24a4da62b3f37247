// Two threads that hand one token back and forth.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static sem_t ping, pong;

static void *answer(void *unused) {
    (void)unused;
    for (int i = 0; i < 300000; i++) {
        sem_wait(&ping);
        sem_post(&pong);
    }
    return NULL;
}

int main(void) {
    pthread_t thread;
    sem_init(&ping, 0, 0);
    sem_init(&pong, 0, 0);
    pthread_create(&thread, NULL, answer, NULL);
    for (int i = 0; i < 300000; i++) {
        sem_post(&ping);
        sem_wait(&pong);
    }
    pthread_join(thread, NULL);
    puts("done");
}
