/* Does at random, in several threads at once, what a tool inside a program finds hardest: forks, vforks, spawns and execs,
 * threads that return, exit and are cancelled, libraries that come and go, signals at any moment, timers, alternate stacks,
 * code that is made and thrown away, faults that are caught, and ends of every kind.
 *
 *   soak SEED OPERATIONS     prints one line, the same natively and under any tool; every operation checks itself.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, PAGE = 4096, STATUS = 42 };

extern char **environ;
static _Thread_local uint64_t state;
static _Thread_local sigjmp_buf landing;
static _Thread_local volatile sig_atomic_t handled;
static atomic_long ticks;
static uint64_t sums[THREADS];

static void fail(const char *what)
{
    fprintf(stderr, "soak: %s (errno %d)\n", what, errno);
    abort();
}

#define CHECK(condition) ((condition) ? (void)0 : fail(#condition))

/* splitmix64 */
static uint64_t draw(uint64_t below)
{
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return (z ^ z >> 31) % below;
}

static uint64_t work(uint64_t n)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum = sum * 31 + i;
    return sum;
}

static void on_tick(int number)
{
    (void)number;
    atomic_fetch_add(&ticks, 1);
    work(50);
}

static void on_signal(int number)
{
    (void)number;
    handled++;
    work(100);
}

static void on_exit_signal(int number)
{
    (void)number;
    _exit(STATUS);
}

static void on_fault(int number)
{
    siglongjmp(landing, number);
}

static void expect_child(pid_t child, int signal)
{
    int status;
    CHECK(child > 0);
    while (waitpid(child, &status, 0) < 0)
        CHECK(errno == EINTR);
    if (signal)
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == signal);
    else
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == STATUS);
}

static void *returns(void *argument)
{
    return (void *)work((uintptr_t)argument);
}

static void *exits(void *argument)
{
    pthread_exit((void *)work((uintptr_t)argument));
}

static void *waits(void *argument)
{
    for (;;)
        pause();
    return argument;
}

static void with_threads(void)
{
    pthread_t thread;
    void *result;
    uintptr_t n = 100 + draw(1000);
    switch (draw(3)) {
    case 0:
        CHECK(!pthread_create(&thread, NULL, returns, (void *)n) && !pthread_join(thread, &result));
        CHECK((uint64_t)result == work(n));
        break;
    case 1:
        CHECK(!pthread_create(&thread, NULL, exits, (void *)n) && !pthread_join(thread, &result));
        CHECK((uint64_t)result == work(n));
        break;
    default:
        CHECK(!pthread_create(&thread, NULL, waits, NULL) && !pthread_cancel(thread) && !pthread_join(thread, &result));
        CHECK(result == PTHREAD_CANCELED);
    }
}

static void with_fork(void)
{
    unsigned way = draw(7);
    pid_t child = fork();
    if (child) {
        expect_child(child, way == 5 ? SIGKILL : way == 6 ? SIGTERM : 0);
        return;
    }
    switch (way) {
    case 0:
        _exit(STATUS);
    case 1:
        with_threads();
        _exit(STATUS);
    case 2:
        signal(SIGUSR2, on_exit_signal);
        raise(SIGUSR2);
        _exit(1);
    case 3:
        execl("/proc/self/exe", "soak", "child", NULL);
        _exit(1);
    case 4:
        _Exit(STATUS);
    case 5:
        kill(getpid(), SIGKILL);
        _exit(1);
    default:
        signal(SIGTERM, SIG_DFL);
        raise(SIGTERM);
        _exit(1);
    }
}

static void with_exec(void)
{
    char *arguments[] = {"soak", "child", NULL};
    pid_t child;
    if (draw(2)) {
        CHECK(!posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ));
    } else if ((child = vfork()) == 0) {
        execv("/proc/self/exe", arguments);
        _exit(1);
    }
    expect_child(child, 0);
}

static void with_library(void)
{
    static const char *const names[] = {"libm.so.6", "libresolv.so.2", "libutil.so.1", "libanl.so.1"};
    void *library = dlopen(names[draw(4)], draw(2) ? RTLD_NOW : RTLD_LAZY);
    CHECK(library);
    double (*cosine)(double) = (double (*)(double))dlsym(library, "cos");
    if (cosine)
        CHECK(cosine(0.0) == 1.0);
    CHECK(!dlclose(library));
}

static void with_signal(void)
{
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    int seen = handled;
    switch (draw(3)) {
    case 0:
        raise(SIGUSR1);
        break;
    case 1:
        CHECK(!pthread_sigmask(SIG_BLOCK, &set, &before));
        raise(SIGUSR1);
        CHECK(handled == seen);
        CHECK(!pthread_sigmask(SIG_SETMASK, &before, NULL));
        break;
    default:
        pthread_kill(pthread_self(), SIGUSR1);
    }
    CHECK(handled == seen + 1);
}

static void on_alternate_stack(void)
{
    stack_t ours = {.ss_size = (4 + draw(4)) * 16384}, before;
    ours.ss_sp = malloc(ours.ss_size);
    CHECK(ours.ss_sp && !sigaltstack(&ours, &before));
    int seen = handled;
    raise(SIGRTMIN);
    CHECK(handled == seen + 1);
    if (!(before.ss_flags & SS_DISABLE) && before.ss_size < 2048)
        before.ss_flags = SS_DISABLE;
    CHECK(!sigaltstack(&before, NULL));
    free(ours.ss_sp);
}

static void with_code(void)
{
    /* mov eax, imm32; ret */
    unsigned char code[] = {0xb8, 0, 0, 0, 0, 0xc3};
    uint32_t value = (uint32_t)draw(1 << 30);
    memcpy(code + 1, &value, sizeof value);
    unsigned char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    memcpy(page, code, sizeof code);
    CHECK(!mprotect(page, PAGE, PROT_READ | PROT_EXEC));
    CHECK(((uint32_t (*)(void))page)() == value);
    CHECK(!munmap(page, PAGE));
}

static void with_fault(void)
{
    char *page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    volatile int zero = 0, result = 1;
    int number = sigsetjmp(landing, 1);
    if (number == 0) {
        if (draw(2))
            page[draw(PAGE)] = 1;
        else
            result = result / zero;
        fail("no fault");
    }
    CHECK(number == SIGSEGV || number == SIGFPE);
    CHECK(!munmap(page, PAGE));
}

static void with_memory(void)
{
    size_t bytes = (1 + draw(64)) * PAGE;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    memset(memory, 7, bytes);
    char *moved = mremap(memory, bytes, bytes * 2, MREMAP_MAYMOVE);
    CHECK(moved != MAP_FAILED && moved[bytes - 1] == 7 && moved[bytes] == 0);
    CHECK(!munmap(moved, bytes * 2));
    char *block = malloc(draw(1 << 16) + 1);
    CHECK(block);
    free(block);
}

static void with_timer(void)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 1};
    CHECK(!timer_create(CLOCK_MONOTONIC, &event, &timer));
    struct itimerspec soon = {.it_value = {0, 1 + (long)draw(200000)}};
    CHECK(!timer_settime(timer, 0, &soon, NULL));
    work(draw(20000));
    CHECK(!timer_delete(timer));
}

typedef void operation(void);
static operation *const operations[] = {with_threads, with_fork,  with_exec,  with_library, with_signal, on_alternate_stack,
                                        with_code,    with_fault, with_memory, with_timer};
/* Processes are dear: most operations are others. */
static const unsigned weights[] = {8, 3, 2, 6, 20, 15, 15, 15, 15, 6};

struct share {
    unsigned index;
    uint64_t seed;
    long count;
};

static void *run(void *argument)
{
    struct share *mine = argument;
    unsigned whole = 0;
    state = mine->seed * 1000 + mine->index;
    for (unsigned i = 0; i < sizeof weights / sizeof *weights; i++)
        whole += weights[i];
    for (long i = 0; i < mine->count; i++) {
        uint64_t drawn = draw(whole);
        unsigned which = 0;
        while (drawn >= weights[which])
            drawn -= weights[which++];
        operations[which]();
        sums[mine->index] = sums[mine->index] * 31 + which + draw(1 << 20);
    }
    return NULL;
}

static void act(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    CHECK(!sigaction(number, &action, NULL));
}

int main(int count, char **words)
{
    if (count == 2 && !strcmp(words[1], "child"))
        _exit(STATUS);
    if (count != 3)
        return 2;
    act(SIGUSR1, on_signal, SA_RESTART);
    act(SIGRTMIN, on_signal, SA_RESTART | SA_ONSTACK);
    act(SIGRTMIN + 1, on_tick, SA_RESTART);
    act(SIGALRM, on_tick, SA_RESTART);
    act(SIGPROF, on_tick, SA_RESTART | SA_ONSTACK);
    act(SIGSEGV, on_fault, 0);
    act(SIGFPE, on_fault, 0);
    struct itimerval often = {{0, 3000}, {0, 3000}};
    setitimer(ITIMER_REAL, &often, NULL);
    setitimer(ITIMER_PROF, &often, NULL);
    pthread_t threads[THREADS];
    struct share shares[THREADS];
    /* When the first thread is cancelled the C library loads what unwinds it, and sets a signal's action. Forked children must
     * find both done: another thread of their parent may be loading a library, and the kernel copies actions before memory. */
    void *result;
    CHECK(!pthread_create(&threads[0], NULL, waits, NULL) && !pthread_cancel(threads[0]) && !pthread_join(threads[0], &result));
    for (unsigned i = 0; i < THREADS; i++) {
        shares[i] = (struct share){i, strtoull(words[1], NULL, 10), atol(words[2])};
        CHECK(!pthread_create(&threads[i], NULL, run, &shares[i]));
    }
    uint64_t sum = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK(!pthread_join(threads[i], NULL));
        sum = sum * 31 + sums[i];
    }
    printf("seed %s: %016llx\n", words[1], (unsigned long long)sum);
    return 0;
}
