/* Children with memory of their own, and with other thread-local storage or none: they use only the kernel, no library. */
#include "robust.h"
#include <asm/prctl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int child_of(unsigned long storage)
{
    static const char line[] = "a child\n";
    long child = syscall(SYS_clone, CLONE_SETTLS | SIGCHLD, 0, 0, 0, storage);
    if (child == 0) {
        long written;
        __asm__ volatile("syscall" : "=a"(written) : "0"(SYS_write), "D"(1), "S"(line), "d"(sizeof line - 1) : "rcx", "r11", "memory");
        __asm__ volatile("syscall" : : "a"(SYS_exit_group), "D"(written == sizeof line - 1 ? 77 : 1) : "rcx", "r11", "memory");
    }
    NEED(child > 0);
    int status;
    NEED(waitpid((pid_t)child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int main(void)
{
    unsigned long own;
    NEED(!syscall(SYS_arch_prctl, ARCH_GET_FS, &own));
    for (int i = 0; i < 10; i++) {
        NEED(child_of(0) == 77);
        NEED(child_of(own) == 77);
    }
    burn(10);
    return 0;
}
