/* Unmaps the vDSO, as sandboxes and programs that restore others do, and continues in threads. */
#include "robust.h"
#include <sys/mman.h>

enum { WORDS = 1 << 18, ROUNDS = 60 };

static int table[WORDS];

static void *work(void *unused)
{
    (void)unused;
    long sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int word = 0; word < WORDS; word++) {
            sum += table[word] ^ round;
        }
    }
    return (void *)sum;
}

/* Each of its mappings: its code, and the data that the kernel keeps for it. */
static int unmap_vdso(void)
{
    struct { unsigned long start, end; } parts[8];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    NEED(maps);
    char line[256];
    while (fgets(line, sizeof line, maps) && found < 8) {
        if (strstr(line, "[vdso]") || strstr(line, "[vvar")) {
            NEED(sscanf(line, "%lx-%lx", &parts[found].start, &parts[found].end) == 2);
            found++;
        }
    }
    fclose(maps);
    for (int part = 0; part < found; part++) {
        NEED(munmap((void *)parts[part].start, parts[part].end - parts[part].start) == 0);
    }
    return found;
}

int main(void)
{
    NEED(unmap_vdso() > 0);
    pthread_t threads[2];
    long sums[2];
    for (int each = 0; each < 2; each++) {
        NEED(pthread_create(&threads[each], NULL, work, NULL) == 0);
    }
    for (int each = 0; each < 2; each++) {
        NEED(pthread_join(threads[each], (void **)&sums[each]) == 0);
    }
    printf("sums %ld and %ld without a vDSO\n", sums[0], sums[1]);
    return 0;
}
