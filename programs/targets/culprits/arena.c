// Threads allocate blocks that are too large for the allocator's caches of each thread, from one arena.
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *work(void *unused) {
    char *kept[16] = {NULL};
    (void)unused;
    for (int i = 0; i < 3000000; i++) {
        free(kept[i % 16]);
        kept[i % 16] = malloc(2000 + i % 7 * 64);
        kept[i % 16][0] = (char)i;
    }
    for (int i = 0; i < 16; i++) free(kept[i]);
    return NULL;
}

int main(void) {
    pthread_t threads[4];
    mallopt(M_ARENA_MAX, 1);
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    puts("done");
}
