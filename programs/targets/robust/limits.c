/* Limits that the agent must not run into: RLIMIT_FSIZE raises a signal, RLIMIT_AS makes memory scarce. */
#include "robust.h"
#include <sys/resource.h>
#include <sys/wait.h>

static void *work(void *unused)
{
    burn(5);
    return unused;
}

int main(int argc, char **argv)
{
    struct rlimit limit = {0, RLIM_INFINITY};
    int file_size = argc > 1 && !strcmp(argv[1], "file-size");
    pthread_attr_t attributes;

    if (!file_size) {
        unsigned long pages = 0;
        FILE *own = fopen("/proc/self/statm", "r");
        NEED(own && fscanf(own, "%lu", &pages) == 1);
        fclose(own);
        limit.rlim_cur = limit.rlim_max = pages * 4096 + (8 << 20);
    }
    NEED(!setrlimit(file_size ? RLIMIT_FSIZE : RLIMIT_AS, &limit));
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    int threads = 40;
    pthread_t made[40];
    for (int t = 0; t < threads; t++)
        NEED(!pthread_create(&made[t], &attributes, work, NULL));
    for (int t = 0; t < threads; t++)
        pthread_join(made[t], NULL);
    pid_t child = fork();
    if (child == 0) {
        burn(5);
        _exit(4);
    }
    int status;
    NEED(waitpid(child, &status, 0) == child && WIFEXITED(status));
    /* What follows is written to a file. */
    limit.rlim_cur = RLIM_INFINITY;
    NEED(!file_size || !setrlimit(RLIMIT_FSIZE, &limit));
    printf("threads %d child %d\n", threads, WEXITSTATUS(status));
    return 0;
}
