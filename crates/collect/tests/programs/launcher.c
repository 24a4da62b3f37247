// Starts programs in every way there is. `launcher HOW PROGRAM`; its own words go to stdout.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char *some_environment[] = {"A=1", "LD_PRELOAD=", "Z=2", NULL};
static char *no_environment[] = {NULL};

static int reap(pid_t child) {
    int status;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int mappings(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    int lines = 0;
    for (int c; (c = getc(maps)) != EOF;) lines += c == '\n';
    fclose(maps);
    return lines;
}

static void burn(double seconds) {
    volatile unsigned long sum = 0;
    while ((double)clock() / CLOCKS_PER_SEC < seconds)
        for (int i = 0; i < 100000; i++) sum += i;
}

static int repeat(int times, char *program) {
    char name[] = "some name";
    int before = 0, bad = 0;
    for (int i = 0; i < times; i++) {
        if (i == 10) before = mappings();
        pid_t child = vfork();
        if (child == 0) {
            execle(program, name, NULL, i % 2 ? some_environment : no_environment);
            _exit(127);
        }
        bad += reap(child) != 7;
    }
    printf("bad %d, new mappings %d\n", bad, mappings() - before);
    return 0;
}

// The program by its name, with its folder on PATH.
static char *found(char *program) {
    char path[4096], *slash = strrchr(program, '/');
    snprintf(path, sizeof path, "/nowhere::%.*s:/bin", (int)(slash - program), program);
    clearenv();
    setenv("PATH", path, 1);
    return slash + 1;
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    char *how = argv[1], *program = argv[2], *arguments[] = {"a", "b c", "", "d", "e", "f", "g", "h", NULL};
    pid_t child;
    setvbuf(stdout, NULL, _IONBF, 0);
    if (!strcmp(how, "execve")) execve(program, arguments, no_environment);
    if (!strcmp(how, "null")) execve(program, arguments, NULL);
    if (!strcmp(how, "execv")) clearenv(), execv(program, arguments);
    if (!strcmp(how, "execvp")) execvp(found(program), arguments);
    if (!strcmp(how, "execvpe")) execvpe(program, arguments, some_environment);
    if (!strcmp(how, "execl")) clearenv(), execl(program, "a", "b c", "", "d", "e", "f", "g", "h", NULL);
    if (!strcmp(how, "execlp")) clearenv(), execlp(program, "a", "b c", "", "d", "e", "f", "g", "h", NULL);
    if (!strcmp(how, "execle"))
        execle(program, "a", "b c", "", "d", "e", "f", "g", "h", NULL, some_environment);
    if (!strcmp(how, "short")) execle(program, "a", NULL, some_environment);
    if (!strcmp(how, "fexecve")) fexecve(open(program, O_RDONLY), arguments, some_environment);
    if (!strcmp(how, "execveat")) execveat(open("/", O_PATH), program + 1, arguments, no_environment, 0);
    if (!strcmp(how, "path")) execveat(open(program, O_PATH), "", arguments, no_environment, AT_EMPTY_PATH);
    if (!strcmp(how, "spawn"))
        return posix_spawn(&child, program, NULL, NULL, arguments, some_environment) ? 3 : reap(child);
    if (!strcmp(how, "spawnp"))
        return posix_spawnp(&child, found(program), NULL, NULL, arguments, no_environment) ? 3 : reap(child);
    if (!strcmp(how, "system")) return WEXITSTATUS(system(program));
    if (!strcmp(how, "vfork")) return repeat(200, program);
    if (!strcmp(how, "fail")) {
        execve("/no/such/program", arguments, no_environment);
        printf("execve %s\n", strerrorname_np(errno));
        execve("/etc/passwd", arguments, some_environment);
        printf("execve %s\n", strerrorname_np(errno));
        execve(NULL, arguments, no_environment);
        printf("execve %s\n", strerrorname_np(errno));
        execlp("no-such-program", "x", NULL);
        printf("execlp %s\n", strerrorname_np(errno));
        errno = EDOM;
        int error = posix_spawn(&child, "/no/such/program", NULL, NULL, arguments, no_environment);
        printf("spawn %s, errno %s\n", strerrorname_np(error), strerrorname_np(errno));
        error = posix_spawnp(&child, "no-such-program", NULL, NULL, arguments, NULL);
        printf("spawnp %s\n", strerrorname_np(error));
        burn(0.3);
        return 0;
    }
    perror(how);
    return 1;
}
