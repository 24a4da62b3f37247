/* Can no longer open files, by Landlock or for want of a /proc in its root, and only then does what it does: sorts in two threads and in
 * a child, by code of the C library that calls back.
 *
 * Status 77 where the kernel has no Landlock, or the user may not change the root. */
#include "robust.h"
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { NUMBERS = 100000, ROUNDS = 40, ROUNDS_OF_CHILD = 2 };

struct task {
    unsigned seed;
    int rounds;
};

static int restrict_by_landlock(void)
{
    /* All rights of its first version, none of which is given back. */
    struct landlock_ruleset_attr all = {.handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1};
    int rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0);
    if (rules < 0)
        return 0;
    NEED(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !syscall(SYS_landlock_restrict_self, rules, 0));
    close(rules);
    return 1;
}

static int compare(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

static void *sort(void *argument)
{
    struct task task = *(struct task *)argument;
    unsigned *numbers = malloc(NUMBERS * sizeof *numbers), state = task.seed;
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = state = state * 1664525 + 1013904223;
    for (int round = 0; round < task.rounds; round++) {
        qsort(numbers, NUMBERS, sizeof *numbers, compare);
        for (int i = 1; i < NUMBERS; i++)
            NEED(numbers[i - 1] <= numbers[i]);
        for (int i = 0; i < NUMBERS; i++)
            numbers[i] *= 2654435761u;
    }
    free(numbers);
    return NULL;
}

int main(int argc, char **argv)
{
    NEED(argc == 2);
    if (strcmp(argv[1], "root") == 0 ? chroot("/sys/kernel") || chdir("/") : !restrict_by_landlock())
        return 77;
    NEED(open("/proc/self/maps", O_RDONLY) < 0);
    pthread_t thread;
    struct task tasks[] = {{1, ROUNDS}, {2, ROUNDS}, {3, ROUNDS_OF_CHILD}};
    NEED(!pthread_create(&thread, NULL, sort, &tasks[0]));
    sort(&tasks[1]);
    NEED(!pthread_join(thread, NULL));
    int status;
    pid_t child = fork();
    if (child == 0) {
        sort(&tasks[2]);
        _exit(7);
    }
    NEED(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    puts("sorted");
    return 0;
}
