/* errno is 0 when the program and its threads begin; a forked child begins with the parent's value. Interruptions and
 * samples never change it, not even where the call path cannot be unwound: in a function without unwind information
 * whose frame pointer points nowhere. */
#include "robust.h"
#include <sys/wait.h>

void unwindable_by_nobody(void);

__asm__(".text\n"
        ".globl unwindable_by_nobody\n"
        ".type unwindable_by_nobody, @function\n"
        "unwindable_by_nobody:\n"
        "    push %rbp\n"
        "    mov $0x7261702d2d006e00, %rbp\n"
        "    mov $2000000, %ecx\n"
        "1:  addq $1, -8(%rsp)\n"
        "    dec %ecx\n"
        "    jnz 1b\n"
        "    pop %rbp\n"
        "    ret\n");

static int at_start = -1;

static void __attribute__((constructor)) early(void)
{
    at_start = errno;
}

static void *thread(void *unused)
{
    NEED(errno == 0);
    return unused;
}

static void begins_as_natively(void)
{
    NEED(at_start == 0 && errno == 0);
    errno = EDOM;
    pthread_t made;
    NEED(pthread_create(&made, NULL, thread, NULL) == 0 && pthread_join(made, NULL) == 0);
    NEED(errno == EDOM);
    pid_t child = fork();
    if (child == 0)
        _exit(errno == EDOM ? 0 : 1);
    int status;
    NEED(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    NEED(errno == EDOM);
}

int main(void)
{
    begins_as_natively();
    for (int i = 0; i < 10; i++) {
        errno = i % 2 ? EDOM : 0;
        unwindable_by_nobody();
        NEED(errno == (i % 2 ? EDOM : 0));
    }
    puts("kept");
    return 0;
}
