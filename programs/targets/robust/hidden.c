/* hidden DIR: hides a directory from itself, if the kernel permits it, and then executes itself both in children and in its
 * own process. */
#include "robust.h"
#include <sched.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>

static int hide(const char *dir)
{
    if (unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS))
        return 0;
    return !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) && !mount("none", dir, "tmpfs", 0, NULL);
}

static void await(pid_t child)
{
    int status;
    NEED(waitpid(child, &status, 0) == child);
    NEED(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int argc, char **argv)
{
    extern char **environ;
    if (argc == 1) {
        burn(60);
        puts("executed");
        return 0;
    }
    burn(10);
    puts(hide(argv[1]) ? "hidden" : "seen");
    fflush(stdout);
    execl("/nothing/there", "there", (char *)NULL);
    char *arguments[] = { argv[0], NULL };
    pid_t child = fork();
    NEED(child >= 0);
    if (!child) {
        execv(argv[0], arguments);
        _exit(98);
    }
    await(child);
    NEED(!posix_spawn(&child, argv[0], NULL, NULL, arguments, environ));
    await(child);
    execv(argv[0], arguments);
    return 99;
}
