// A free list for each thread, each with a lock of its own.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
    struct node *next;
};

struct list {
#ifdef FIX
    _Alignas(64)
#endif
    struct node *first;
    pthread_spinlock_t lock;
    int length;
};

static struct list lists[4];

static void give(struct list *list, struct node *node) {
    pthread_spin_lock(&list->lock);
    node->next = list->first;
    list->first = node;
    list->length++;
    pthread_spin_unlock(&list->lock);
}

static struct node *take(struct list *list) {
    pthread_spin_lock(&list->lock);
    struct node *node = list->first;
    if (node) {
        list->first = node->next;
        list->length--;
    }
    pthread_spin_unlock(&list->lock);
    return node;
}

static void *work(void *argument) {
    struct list *own = argument;
    for (int i = 0; i < 16; i++)
        give(own, aligned_alloc(64, 64));
    for (int i = 0; i < 6000000; i++) {
        struct node *node = take(own);
        give(own, node);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        pthread_spin_init(&lists[i].lock, 0);
        pthread_create(&threads[i], NULL, work, &lists[i]);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", lists[0].length);
}
