// Threads push to a list under a mutex of C11.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

#ifdef FIX
enum { NODES = 100000, ROUNDS = 1000 };
#else
enum { NODES = 1000, ROUNDS = 3000 };
#endif

struct node {
    struct node *next;
    long value;
};

static struct {
    struct node *head;
    mtx_t guard;
} list;

static void push(struct node *first, struct node *last) {
    mtx_lock(&list.guard);
    last->next = list.head;
    list.head = first;
    mtx_unlock(&list.guard);
}

static int fill(void *unused) {
    (void)unused;
    struct node *nodes = malloc(NODES * sizeof *nodes);
    for (int round = 0; round < ROUNDS; round++) {
#ifdef FIX
        for (int i = 0; i + 1 < NODES; i++) nodes[i].next = &nodes[i + 1];
        push(&nodes[0], &nodes[NODES - 1]);
#else
        for (int i = 0; i < NODES; i++) push(&nodes[i], &nodes[i]);
#endif
    }
    return 0;
}

int main(void) {
    thrd_t threads[4];
    mtx_init(&list.guard, mtx_plain);
    for (int i = 0; i < 4; i++) thrd_create(&threads[i], fill, NULL);
    for (int i = 0; i < 4; i++) thrd_join(threads[i], NULL);
    printf("%d\n", list.head != NULL);
}
