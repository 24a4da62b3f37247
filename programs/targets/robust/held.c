/* What other threads hold while a process forks, while a handler ends a thread, or while a call waits for them. The first
 * argument names the case. Natively none of these waits for long. */
#include "robust.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

static volatile int stop;

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

/* One thread is in the middle of the loader's list, and holds its lock, while another forks. */
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

static void loader(void)
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
}

/* Handlers that fork, whatever they interrupt; the children end at once. fork() takes the locks of malloc, so they must not
 * interrupt malloc: only the first thread allocates, and the others reuse the stack of the previous one. */
static volatile int handled;

static void fork_here(int signal)
{
    (void)signal;
    int before = errno;
    pid_t child = fork();
    if (child == 0)
        _exit(5);
    if (child > 0)
        NEED(wait_for(child) == 5);
    handled++;
    errno = before;
}

static void handler(void)
{
    struct sigaction action = {.sa_handler = fork_here};
    NEED(!sigaction(SIGALRM, &action, NULL));
    one_thread();
    for (int i = 0; i < 100; i++) {
        struct itimerval soon = {{0, 0}, {0, 50 + i * 37 % 900}};
        NEED(!setitimer(ITIMER_REAL, &soon, NULL));
        while (handled == i)
            one_thread();
    }
}

/* Threads of different priorities that do not let each other run. */
static void *urgent(void *number)
{
    struct sched_param priority = {.sched_priority = 1 + (long)number % 90};
    /* Without the privilege they are ordinary threads. */
    pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority);
    for (int i = 0; i < 1000; i++)
        robust_sink += (unsigned long)i;
    return number;
}

static void priorities(void)
{
    enum { MANY = 60 };
    pthread_t threads[MANY];
    /* If they wait for ever, nothing else can run on this machine. */
    alarm(20);
    for (long i = 0; i < MANY; i++)
        NEED(!pthread_create(&threads[i], NULL, urgent, (void *)(i * 37)));
    for (int i = 0; i < MANY; i++)
        NEED(!pthread_join(threads[i], NULL));
}

/* Unmapping memory that a thread of the program watches finishes only when that thread has been told. */
static int watcher = -1;

static unsigned long not_run_before(unsigned long from)
{
    unsigned long sum = from;
    for (int i = 0; i < 10; i++)
        sum = sum * 31 + (sum >> 3);
    return sum;
}

static void *watch(void *unused)
{
    struct uffd_msg message;
    usleep(100 * 1000);
    robust_sink += not_run_before(robust_sink);
    while (read(watcher, &message, sizeof message) != sizeof message)
        NEED(errno == EAGAIN || errno == EINTR);
    NEED(message.event == UFFD_EVENT_UNMAP);
    return unused;
}

static void memory(void)
{
    struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_EVENT_UNMAP};
    size_t bytes = 1 << 16;
    pthread_t thread;
    watcher = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    /* Not every user may. */
    if (watcher < 0 || ioctl(watcher, UFFDIO_API, &api))
        return;
    void *place = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(place != MAP_FAILED);
    struct uffdio_register all = {{(unsigned long)place, bytes}, UFFDIO_REGISTER_MODE_MISSING, 0};
    NEED(!ioctl(watcher, UFFDIO_REGISTER, &all));
    NEED(!pthread_create(&thread, NULL, watch, NULL));
    NEED(!munmap(place, bytes));
    NEED(!pthread_join(thread, NULL));
}

int main(int argc, char **argv)
{
    NEED(argc == 2);
    struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"loader", loader}, {"handler", handler}, {"priorities", priorities}, {"memory", memory}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(all[i].name, argv[1])) {
            all[i].run();
            burn(5);
            puts(argv[1]);
            return 0;
        }
    return 1;
}
