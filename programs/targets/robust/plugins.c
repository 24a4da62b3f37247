/* plugins FILE...: each thread repeatedly opens, uses and closes a library of its own, while others compute. */
#include "robust.h"
#include <dlfcn.h>

enum { ROUNDS = 150 };
static volatile int stop;

static void *use(void *path)
{
    long total = 0;
    for (int round = 0; round < ROUNDS; round++) {
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!library)
            fprintf(stderr, "%s\n", dlerror());
        NEED(library);
        long (*work)(long) = (long (*)(long))dlsym(library, "plugin_work");
        NEED(work);
        total += work(100000);
        NEED(!dlclose(library));
    }
    return (void *)total;
}

static void *compute(void *unused)
{
    while (!stop)
        burn(1);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t users[16], computer;
    int count = argc - 1;
    NEED(count <= 16);
    NEED(!pthread_create(&computer, NULL, compute, NULL));
    for (int i = 0; i < count; i++)
        NEED(!pthread_create(&users[i], NULL, use, argv[i + 1]));
    for (int i = 0; i < count; i++) {
        void *total;
        pthread_join(users[i], &total);
        printf("%ld\n", (long)total);
    }
    stop = 1;
    pthread_join(computer, NULL);
    NEED(!dlopen("libno-such-thing.so", RTLD_NOW));
    NEED(strstr(dlerror(), "libno-such-thing.so"));
    return 0;
}
