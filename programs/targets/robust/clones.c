/* clones CHILDREN [files]: children by clone, with memory of their own, made while earlier ones still run; they share their parent's open
 * files, if asked to. Each goes other ways through its code than those beside it, and allocates. */
#include "robust.h"
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define AT_ONCE 8
#define STACK_BYTES (64 << 10)

static unsigned steps[8];

/* What comes next depends on the child: those that run at the same time take different ways. */
__attribute__((noinline)) static unsigned step(unsigned which, unsigned value)
{
    switch (which % 8) {
    case 0: return value * 3 + 1;
    case 1: return value ^ value >> 5;
    case 2: return value - steps[value % 8];
    case 3: return value << 3 | value >> 29;
    case 4: return ~value;
    case 5: return value % 1000003 * 7;
    case 6: return value + (value & 0xff) * 11;
    default: return value ^ 0x5bd1e995;
    }
}

static unsigned walk(unsigned number)
{
    unsigned value = number + 1;
    for (unsigned i = 0; i < 2000; i++) {
        unsigned which = (number + 1) * (i / 200 + 1);
        value = step(which, value);
        steps[which % 8] += value;
    }
    return value;
}

struct task {
    unsigned number;
    volatile unsigned *found;
};

static int child(void *given)
{
    const struct task *task = given;
    for (size_t i = 1; i < 100; i++) {
        volatile char *block = malloc(100 * i);
        NEED(block);
        block[0] = 1;
        free((void *)block);
    }
    task->found[task->number] = walk(task->number);
    return (int)(task->number % 100);
}

static void finish(pid_t pid, unsigned number)
{
    int status;
    NEED(waitpid(pid, &status, 0) == pid);
    NEED(WIFEXITED(status) && WEXITSTATUS(status) == (int)(number % 100));
}

int main(int argc, char **argv)
{
    unsigned children = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
    int flags = argc > 2 ? CLONE_FILES | SIGCHLD : SIGCHLD;
    size_t bytes = children * sizeof(unsigned);
    volatile unsigned *found = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    NEED(found != MAP_FAILED);
    static char stacks[AT_ONCE][STACK_BYTES] __attribute__((aligned(16)));
    struct task tasks[AT_ONCE];
    pid_t pids[AT_ONCE];
    for (unsigned i = 0; i < children; i++) {
        unsigned place = i % AT_ONCE;
        if (i >= AT_ONCE)
            finish(pids[place], i - AT_ONCE);
        tasks[place] = (struct task){ i, found };
        pids[place] = clone(child, stacks[place] + STACK_BYTES, flags, &tasks[place]);
        NEED(pids[place] > 0);
    }
    for (unsigned i = children > AT_ONCE ? children - AT_ONCE : 0; i < children; i++)
        finish(pids[i % AT_ONCE], i);
    unsigned sum = 0;
    for (unsigned i = 0; i < children; i++)
        sum = sum * 31 + found[i];
    printf("children %u sum %u\n", children, sum);
    return 0;
}
