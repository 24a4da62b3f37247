/* Calls that fail with EINTR after any signal handler, in a program without handlers, with computation between them:
 * one EINTR is a failure. */
#include "robust.h"
#include <arpa/inet.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { ROUNDS = 40 };

/* As programs compute between calls: every length of time comes up. */
static void compute(unsigned *seed)
{
    unsigned long n = (unsigned long)(rand_r(seed) % 400) * 1000;
    for (unsigned long i = 0; i < n; i++)
        robust_sink += i;
}

static void *sleeper(void *number)
{
    unsigned seed = (unsigned)(long)number;
    struct timespec moment = {0, 200000}, left;
    int pipe_ends[2], epoll = epoll_create1(0);
    struct epoll_event event;
    struct pollfd nothing;
    sem_t semaphore;
    NEED(!pipe(pipe_ends) && !sem_init(&semaphore, 0, 0));
    nothing = (struct pollfd){.fd = pipe_ends[0], .events = POLLIN};
    for (int i = 0; i < ROUNDS; i++) {
        struct timeval little = {0, 200};
        struct timespec until;
        fd_set set;
        compute(&seed);
        NEED(nanosleep(&moment, &left) == 0);
        compute(&seed);
        NEED(usleep(100) == 0);
        compute(&seed);
        NEED(poll(&nothing, 1, 1) == 0);
        compute(&seed);
        NEED(epoll_wait(epoll, &event, 1, 1) == 0);
        compute(&seed);
        FD_ZERO(&set);
        FD_SET(pipe_ends[0], &set);
        NEED(select(pipe_ends[0] + 1, &set, NULL, NULL, &little) == 0);
        compute(&seed);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 300000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        NEED(sem_timedwait(&semaphore, &until) == -1 && errno == ETIMEDOUT);
        compute(&seed);
        char byte = 1;
        NEED(write(pipe_ends[1], &byte, 1) == 1 && read(pipe_ends[0], &byte, 1) == 1);
    }
    return number;
}

static void *reader(void *fd)
{
    char byte;
    unsigned seed = 99;
    for (int i = 0; i < ROUNDS; i++) {
        compute(&seed);
        NEED(read((int)(long)fd, &byte, 1) == 1 && byte == (char)i);
    }
    return fd;
}

static void *server(void *listener)
{
    unsigned seed = 7;
    for (int i = 0; i < ROUNDS; i++) {
        char byte;
        compute(&seed);
        int fd = accept((int)(long)listener, NULL, NULL);
        NEED(fd >= 0);
        NEED(recv(fd, &byte, 1, 0) == 1);
        close(fd);
    }
    return listener;
}

int main(void)
{
    pthread_t threads[4];
    int pipe_ends[2], listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    unsigned seed = 5;

    NEED(!pipe(pipe_ends));
    NEED(!bind(listener, (struct sockaddr *)&address, sizeof address) && !listen(listener, 8));
    NEED(!getsockname(listener, (struct sockaddr *)&address, &length));
    NEED(!pthread_create(&threads[0], NULL, sleeper, (void *)1));
    NEED(!pthread_create(&threads[1], NULL, sleeper, (void *)2));
    NEED(!pthread_create(&threads[2], NULL, reader, (void *)(long)pipe_ends[0]));
    NEED(!pthread_create(&threads[3], NULL, server, (void *)(long)listener));
    for (int i = 0; i < ROUNDS; i++) {
        char byte = (char)i;
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        compute(&seed);
        NEED(!connect(fd, (struct sockaddr *)&address, length));
        NEED(send(fd, &byte, 1, 0) == 1);
        close(fd);
        NEED(write(pipe_ends[1], &byte, 1) == 1);
        compute(&seed);
    }
    for (int t = 0; t < 4; t++)
        pthread_join(threads[t], NULL);
    pid_t child = fork();
    if (child == 0) {
        burn(20);
        _exit(6);
    }
    int status;
    compute(&seed);
    NEED(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 6);
    printf("no call was interrupted\n");
    return 0;
}
