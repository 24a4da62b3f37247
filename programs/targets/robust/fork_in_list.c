/* A child of a process in which another thread stands in the middle of the loader's list, whose lock it holds. */
#include "robust.h"
#include <link.h>
#include <sys/wait.h>

static void *nothing(void *unused)
{
    return unused;
}

static void one_thread(void)
{
    pthread_t thread;
    if (!pthread_create(&thread, NULL, nothing, NULL))
        pthread_join(thread, NULL);
}

static int wait_for(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) != child)
        NEED(errno == EINTR);
    NEED(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static pthread_barrier_t in_list, forked;

static int stand(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)info, (void)size, (void)unused;
    pthread_barrier_wait(&in_list);
    pthread_barrier_wait(&forked);
    return 1;
}

static void *walk(void *unused)
{
    dl_iterate_phdr(stand, NULL);
    return unused;
}

int main(void)
{
    pthread_t thread;
    NEED(!pthread_barrier_init(&in_list, NULL, 2) && !pthread_barrier_init(&forked, NULL, 2));
    NEED(!pthread_create(&thread, NULL, walk, NULL));
    pthread_barrier_wait(&in_list);
    pid_t child = fork();
    NEED(child >= 0);
    if (child == 0) {
        one_thread();
        _exit(7);
    }
    NEED(wait_for(child) == 7);
    pthread_barrier_wait(&forked);
    NEED(!pthread_join(thread, NULL));
    burn(5);
    puts("forked");
    return 0;
}

