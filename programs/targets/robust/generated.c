/* Two threads run code that the program makes while it runs, which adds to neighbouring numbers: false sharing. The program
 * describes the code as runtimes do, by `perf` in /tmp/perf-PID.map, by `dump` in a jitdump in the directory DIRECTORY.
 *
 *     cc -O1 -pthread generated.c -o generated && ./generated perf|dump DIRECTORY [TIMES]
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* again: add qword [rdi], 1; dec rsi; jnz again; ret */
static const unsigned char CODE[] = {0x48, 0x83, 0x07, 0x01, 0x48, 0xff, 0xce, 0x75, 0xf7, 0xc3};

typedef void routine(long *number, long times);

static _Alignas(64) long numbers[8];
static long times;
static unsigned char *code;

static void *work(void *index)
{
    long i = (long)index;
    ((routine *)(code + 64 * i))(&numbers[i], times);
    return NULL;
}

static void describe_for_perf(void)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
    FILE *map = fopen(path, "w");
    if (!map)
        exit(1);
    for (int i = 0; i < 2; i++)
        fprintf(map, "%lx %zx %s\n", (unsigned long)(code + 64 * i), sizeof CODE, i ? "add_second" : "add_first");
    fclose(map);
}

static void put(FILE *file, const void *bytes, size_t count)
{
    if (fwrite(bytes, 1, count, file) != count)
        exit(1);
}

static void put32(FILE *file, uint32_t value)
{
    put(file, &value, sizeof value);
}

static void put64(FILE *file, uint64_t value)
{
    put(file, &value, sizeof value);
}

static void describe_in_dump(const char *directory)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/jit-%d.dump", directory, getpid());
    FILE *dump = fopen(path, "w+");
    if (!dump)
        exit(1);
    /* By this mapping profilers find the file. */
    if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) == MAP_FAILED)
        exit(1);
    put32(dump, 0x4A695444), put32(dump, 1), put32(dump, 40), put32(dump, 62);
    put32(dump, 0), put32(dump, getpid()), put64(dump, 0), put64(dump, 0);
    for (int i = 0; i < 2; i++) {
        uint64_t at = (uint64_t)(code + 64 * i);
        const char *name = i ? "add_second" : "add_first", *file = "/nowhere/source.js";
        /* Its lines: 10 and 20. */
        put32(dump, 2), put32(dump, 16 + 16 + 16 + strlen(file) + 1), put64(dump, 0);
        put64(dump, at), put64(dump, 1);
        put64(dump, at), put32(dump, 10 * (i + 1)), put32(dump, 0), put(dump, file, strlen(file) + 1);
        put32(dump, 0), put32(dump, 16 + 40 + strlen(name) + 1 + sizeof CODE), put64(dump, 0);
        put32(dump, getpid()), put32(dump, getpid()), put64(dump, at), put64(dump, at);
        put64(dump, sizeof CODE), put64(dump, i), put(dump, name, strlen(name) + 1), put(dump, CODE, sizeof CODE);
    }
    fclose(dump);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    times = argc > 3 ? atol(argv[3]) : 100000000;
    code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED)
        return 1;
    memcpy(code, CODE, sizeof CODE);
    memcpy(code + 64, CODE, sizeof CODE);
    mprotect(code, 4096, PROT_READ | PROT_EXEC);
    if (strcmp(argv[1], "perf") == 0)
        describe_for_perf();
    else
        describe_in_dump(argv[2]);
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)i))
            return 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%ld %ld\n", numbers[0], numbers[1]);
    return 0;
}
