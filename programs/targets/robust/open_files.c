/* Which descriptors there are, and how many can be opened up to the highest limit. */
#include "robust.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>

static void *work(void *unused)
{
    for (;;)
        burn(5);
    return unused;
}

int main(void)
{
    struct rlimit limit;
    pthread_t thread;
    struct dirent *entry;
    NEED(!pthread_create(&thread, NULL, work, NULL));
    burn(20);
    DIR *list = opendir("/proc/self/fd");
    NEED(list);
    while ((entry = readdir(list)))
        if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(list))
            printf("%s\n", entry->d_name);
    closedir(list);
    NEED(!getrlimit(RLIMIT_NOFILE, &limit));
    /* Above every number that carom might choose, within a limit on the time it takes. */
    limit.rlim_cur = limit.rlim_max < 20000 ? limit.rlim_max : 20000;
    NEED(!setrlimit(RLIMIT_NOFILE, &limit));
    int opened = 0;
    while (open("/dev/null", O_RDONLY) >= 0)
        opened++;
    printf("%d opened, errno %d\n", opened, errno);
    fflush(stdout);
    _exit(0);
}
