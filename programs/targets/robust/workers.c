/* A library with a worker thread that ends before each fork, as some libraries for linear algebra do; without LIBRARY, a
 * program that uses it. The library's handler is installed before any of the program's or of a preloaded library's. */
#include "robust.h"
#include <sys/wait.h>

#ifdef LIBRARY
static pthread_t worker;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int running, ends;

static void *work(void *unused)
{
    pthread_mutex_lock(&lock);
    while (!ends)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

void use_library(void)
{
    ends = 0;
    running = !pthread_create(&worker, NULL, work, NULL);
}

static void end_worker(void)
{
    if (!running)
        return;
    pthread_mutex_lock(&lock);
    ends = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    running = 0;
}

__attribute__((constructor)) static void load(void)
{
    pthread_atfork(end_worker, NULL, NULL);
}
#else
void use_library(void);

int main(void)
{
    for (int i = 0; i < 50; i++) {
        int status;
        use_library();
        pid_t child = fork();
        NEED(child >= 0);
        if (child == 0) {
            use_library();
            _exit(i);
        }
        NEED(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == i);
    }
    burn(5);
    puts("workers");
    return 0;
}
#endif
