// 100 million loads, one of each line of 1 MiB, round after round; then 500 million of 8 MiB, in a child if the argument is "fork".
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE = 64 };

static uint64_t rounds(const char *array, size_t bytes, uint64_t loads) {
    uint64_t sum = 0;
    for (uint64_t done = 0; done < loads;)
        for (size_t at = 0; at < bytes && done < loads; at += LINE, done++)
            sum += *(const volatile uint64_t *)(array + at);
    return sum;
}

int main(int argc, char **argv) {
    char *small = calloc(1, 1 << 20), *large = calloc(1, 8 << 20);
    memset(small, 1, 1 << 20);
    memset(large, 1, 8 << 20);
    printf("%llx\n", (unsigned long long)rounds(small, 1 << 20, 100000000));
    fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "fork") == 0) {
        pid_t child = fork();
        if (child == 0) {
            printf("%llx\n", (unsigned long long)rounds(large, 8 << 20, 500000000));
            fflush(stdout);
            _exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        return status;
    }
    printf("%llx\n", (unsigned long long)rounds(large, 8 << 20, 500000000));
    return 0;
}
