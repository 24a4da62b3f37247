// Runs `worker`, the code of one of the programs of known counts, in argv[1] threads at the same time.
// They end by a system call of their own; joining works all the same, because the kernel clears the id.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 256 };

void *worker(void *unused);

int main(int argc, char **argv) {
    pthread_t threads[MOST];
    int count = argc > 1 ? atoi(argv[1]) : 1;
    if (count < 1 || count > MOST) {
        fprintf(stderr, "threads: between 1 and %d\n", MOST);
        return 2;
    }
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, worker, NULL) != 0)
            return 1;
    for (int i = 0; i < count; i++)
        if (pthread_join(threads[i], NULL) != 0)
            return 1;
    return 0;
}
