/* Uses of the heap that a hook could break; prints what it saw. The argument says which.
 *
 *     cc -O1 -pthread heap.c -o heap && ./heap calls|signal|jump|fork|sites
 */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void check(const char *what, int holds)
{
    printf("%s %s\n", what, holds ? "yes" : "NO");
}

static int aligned(void *block, uintptr_t to)
{
    memset(block, 1, 100);
    return (uintptr_t)block % to == 0;
}

static void calls(void)
{
    free(NULL);
    unsigned char *grown = NULL;
    for (size_t size = 1; size < 300000; size += size / 3 + 1) {
        grown = realloc(grown, size);
        grown[size - 1] = (unsigned char)size;
        grown[0] = 7;
    }
    int kept = 1;
    for (size_t size = 1; size < 300000; size += size / 3 + 1)
        kept &= size == 1 || grown[size - 1] == (unsigned char)size;
    check("realloc keeps the content", kept && grown[0] == 7);
    for (size_t size = 200000; size > 0; size /= 2)
        grown = realloc(grown, size);
    check("realloc shrinks", grown[0] == 7);
    check("realloc to nothing frees", realloc(grown, 0) == NULL);
    errno = 5;
    void *block = malloc(100);
    check("errno is kept", errno == 5);
    errno = 0;
    check("what cannot be had", malloc(PTRDIFF_MAX) == NULL && errno == ENOMEM);
    check("realloc fails", realloc(block, PTRDIFF_MAX) == NULL);
    check("an overflow", calloc(SIZE_MAX / 2, 3) == NULL && reallocarray(block, SIZE_MAX / 2, 3) == NULL);
    block = reallocarray(block, 10, 100);
    check("reallocarray", malloc_usable_size(block) >= 1000);
    free(block);
    unsigned char *zero = calloc(1000, 10);
    int zeroes = 1;
    for (int i = 0; i < 10000; i++)
        zeroes &= zero[i] == 0;
    check("calloc clears", zeroes);
    free(zero);
    void *place = &place;
    check("a bad alignment", posix_memalign(&place, 3, 100) == EINVAL && place == &place);
    for (size_t alignment = 16; alignment <= 1 << 20; alignment *= 16) {
        void *four[4] = {aligned_alloc(alignment, alignment * 8), memalign(alignment, 100), NULL, malloc(0)};
        check("posix_memalign", posix_memalign(&four[2], alignment, 100) == 0);
        check("alignment", aligned(four[0], alignment) && aligned(four[1], alignment) && aligned(four[2], alignment));
        for (int i = 0; i < 4; i++)
            free(four[i]);
    }
    void *page = valloc(100), *pages = pvalloc(100);
    check("pages", aligned(page, 4096) && aligned(pages, 4096) && malloc_usable_size(pages) >= 4096);
    free(page);
    free(pages);
}

static volatile sig_atomic_t handled;
static sigjmp_buf out;
static int jumps;

static void handler(int signal)
{
    (void)signal;
    void *first = malloc(40), *second = malloc(4000);
    memset(first, 1, 40);
    free(second);
    free(first);
    handled++;
    if (jumps)
        siglongjmp(out, 1);
}

/* Only with an allocator that may be interrupted anywhere: see interruptible.c. */
static void interrupted(void)
{
    struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    signal(SIGALRM, handler);
    setitimer(ITIMER_REAL, &often, NULL);
    sigsetjmp(out, 1);
    while (handled < 2000) {
        void *block = malloc(100);
        block = realloc(block, 200);
        free(block);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    /* One more may come before the timer is stopped. */
    check("handled", handled >= 2000);
}

static volatile int done;

static void *churn(void *unused)
{
    while (!done) {
        void *blocks[100];
        for (int i = 0; i < 100; i++)
            blocks[i] = malloc((size_t)i * 50 + 1);
        for (int i = 0; i < 100; i++)
            free(blocks[i]);
    }
    return unused;
}

static void forks(void)
{
    pthread_t threads[2];
    int good = 0;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, churn, NULL);
    for (int i = 0; i < 60; i++) {
        pid_t child = fork();
        if (child == 0) {
            for (int j = 0; j < 2000; j++)
                free(malloc((size_t)j + 1));
            _exit(9);
        }
        int status;
        waitpid(child, &status, 0);
        good += WIFEXITED(status) && WEXITSTATUS(status) == 9;
    }
    done = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    check("60 children", good == 60);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "calls";
    if (!strcmp(what, "calls"))
        calls();
    jumps = !strcmp(what, "jump");
    if (!strcmp(what, "signal") || jumps)
        interrupted();
    if (!strcmp(what, "fork"))
        forks();
    return 0;
}
