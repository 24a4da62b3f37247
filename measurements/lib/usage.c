/* Runs a program and writes what it took: wall, user and system time in seconds, the peak resident set in
 * KiB, and the wait status.
 *
 *     usage FILE PROGRAM [ARGS...]
 *
 * Measuring from here, next to the program, keeps carom's host process out of the program's numbers, and a
 * parent this small keeps out its own memory too: Linux counts what a process held before exec as its peak.
 * Time is that of the program and of its descendants that it waited for; memory that of the largest of them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval t)
{
    return t.tv_sec + t.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: usage FILE PROGRAM [ARGS...]\n");
        return 125;
    }
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    pid_t child = fork();
    if (child < 0) {
        perror("usage: fork");
        return 125;
    }
    if (child == 0) {
        execvp(argv[2], argv + 2);
        fprintf(stderr, "usage: %s: %s\n", argv[2], strerror(errno));
        _exit(127);
    }
    int status;
    struct rusage used;
    while (wait4(child, &status, 0, &used) < 0)
        if (errno != EINTR) {
            perror("usage: wait4");
            return 125;
        }
    clock_gettime(CLOCK_MONOTONIC, &end);

    FILE *out = fopen(argv[1], "w");
    if (!out) {
        perror(argv[1]);
        return 125;
    }
    fprintf(out, "%.6f %.6f %.6f %ld %d\n", (end.tv_sec - begin.tv_sec) + (end.tv_nsec - begin.tv_nsec) / 1e9,
            seconds(used.ru_utime), seconds(used.ru_stime), used.ru_maxrss, status);
    fclose(out);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
