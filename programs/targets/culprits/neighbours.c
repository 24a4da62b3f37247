// A variable of this file beside one of another file.
#include <pthread.h>
#include <stdio.h>

#include "neighbours.h"

LINE long received;

static void *receive(void *unused) {
    (void)unused;
    for (long i = 0; i < 150000000; i++) (*(volatile long *)&received)++;
    return NULL;
}

int main(void) {
    pthread_t receiver, sender;
    pthread_create(&receiver, NULL, receive, NULL);
    pthread_create(&sender, NULL, send_all, NULL);
    pthread_join(receiver, NULL);
    pthread_join(sender, NULL);
    printf("%ld %ld\n", received, sent);
}
