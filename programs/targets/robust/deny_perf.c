/* deny_perf PROGRAM ARGS: runs the program where perf_event_open fails with EPERM, as in a default container. */
#include "robust.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

int main(int argc, char **argv)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
    NEED(argc > 1);
    NEED(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    NEED(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
    execvp(argv[1], argv + 1);
    return 127;
}
