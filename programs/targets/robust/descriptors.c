/* Descriptors and limits are the same as without carom. The argument names what to try. */
#include "robust.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

static int open_null(void)
{
    int fd = open("/dev/null", O_RDONLY);
    NEED(fd >= 0);
    return fd;
}

static void *work(void *unused)
{
    burn(100);
    return unused;
}

static void show(const char *what)
{
    struct rlimit limit;
    NEED(!getrlimit(RLIMIT_NOFILE, &limit));
    printf("%s: descriptor %d, limit %llu of %llu\n", what, open_null(), (unsigned long long)limit.rlim_cur,
           (unsigned long long)limit.rlim_max);
}

/* Those below the program's limit: a program that lists its descriptors would act on them. */
static void list(void)
{
    struct rlimit limit;
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    NEED(folder && !getrlimit(RLIMIT_NOFILE, &limit));
    int own = dirfd(folder), count = 0;
    while ((entry = readdir(folder))) {
        int fd = atoi(entry->d_name);
        if (entry->d_name[0] != '.' && fd != own && fd < 1024)
            count++;
    }
    closedir(folder);
    printf("open below 1024: %d\n", count);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    pthread_t threads[3];

    if (!strcmp(how, "limit") || !strcmp(how, "all")) {
        /* As a shell's `ulimit -Sn 64` does, but while the program runs. */
        struct rlimit limit;
        NEED(!getrlimit(RLIMIT_NOFILE, &limit));
        limit.rlim_cur = 64;
        NEED(!setrlimit(RLIMIT_NOFILE, &limit));
    }
    show("first");
    for (int t = 0; t < 3; t++)
        NEED(!pthread_create(&threads[t], NULL, work, NULL));
    burn(50);
    if (!strcmp(how, "closefrom")) {
        closefrom(3);
        show("after closefrom");
    }
    if (!strcmp(how, "close_range")) {
        NEED(!close_range(3, ~0u, 0));
        show("after close_range");
    }
    if (!strcmp(how, "all")) {
        int last = -1, count = 0;
        for (int fd; (fd = open("/dev/null", O_RDONLY)) >= 0; count++)
            last = fd;
        NEED(errno == EMFILE);
        printf("opened %d to %d\n", count, last);
    }
    burn(100);
    for (int t = 0; t < 3; t++)
        pthread_join(threads[t], NULL);
    if (strcmp(how, "all")) {
        show("last");
        list();
    }
    return 0;
}
