/* Caches, simulated access by access: what miss ratios are compared with.
 *
 *   simulate FILE CACHE...       CACHE: private|shared : SETS : WAYS
 *
 * FILE holds what `carom reuse --exact --keep-accesses` keeps as words (crates/store/examples/accesses.rs). Each CACHE is one for every thread
 * (private) or domain (shared), of lines of 64 bytes, the least recently used of a set replaced; a write takes the line out of
 * all others of the same kind. Prints a line per CACHE: itself, touches of lines, misses.
 *
 * Nothing here knows of reuse distances: a line is in a cache or it is not. */

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { LINE_BITS = 6, ADDRESS_BITS = 48, WIDTH_BITS = 14, TURN = 3, LOAD = 0, MOST_OWNERS = 1 << 16 };
static const uint32_t NONE = UINT32_MAX;

static void fail(const char *what) {
    perror(what);
    exit(2);
}

static void *make(size_t count, size_t bytes) {
    void *made = calloc(count, bytes);
    if (!made)
        fail("calloc");
    return made;
}

/* One cache. Lines are entries of a list by time of last use for each set, found through a hash table. */
struct cache {
    uint64_t sets, ways;
    uint64_t *line;         /* by entry */
    uint32_t *newer, *older;
    uint32_t *newest, *oldest, *held; /* by set */
    uint32_t *spare;        /* entries that hold no line, a stack for each set */
    uint32_t *table;        /* entries by hash of their line, with linear probing; at most half full */
    uint64_t mask;
};

static uint64_t hash(uint64_t line) {
    line *= 0x9E3779B97F4A7C15u;
    return line ^ line >> 32;
}

static struct cache *new_cache(uint64_t sets, uint64_t ways) {
    struct cache *c = make(1, sizeof *c);
    uint64_t entries = sets * ways, size = 16;
    while (size < 2 * entries)
        size *= 2;
    *c = (struct cache){.sets = sets, .ways = ways, .mask = size - 1};
    c->line = make(entries, sizeof *c->line);
    c->newer = make(entries, sizeof *c->newer);
    c->older = make(entries, sizeof *c->older);
    c->spare = make(entries, sizeof *c->spare);
    c->newest = make(sets, sizeof *c->newest);
    c->oldest = make(sets, sizeof *c->oldest);
    c->held = make(sets, sizeof *c->held);
    c->table = make(size, sizeof *c->table);
    memset(c->table, 0xff, size * sizeof *c->table);
    for (uint64_t set = 0; set < sets; set++) {
        c->newest[set] = c->oldest[set] = NONE;
        for (uint64_t way = 0; way < ways; way++)
            c->spare[set * ways + way] = (uint32_t)(set * ways + way);
    }
    return c;
}

/* The place in the table of a line, or that where it would go. */
static uint64_t find(const struct cache *c, uint64_t line) {
    uint64_t at = hash(line) & c->mask;
    while (c->table[at] != NONE && c->line[c->table[at]] != line)
        at = (at + 1) & c->mask;
    return at;
}

static void unlist(struct cache *c, uint64_t set, uint32_t entry) {
    uint32_t newer = c->newer[entry], older = c->older[entry];
    *(newer == NONE ? &c->newest[set] : &c->older[newer]) = older;
    *(older == NONE ? &c->oldest[set] : &c->newer[older]) = newer;
}

static void list_newest(struct cache *c, uint64_t set, uint32_t entry) {
    c->newer[entry] = NONE;
    c->older[entry] = c->newest[set];
    *(c->newest[set] == NONE ? &c->oldest[set] : &c->newer[c->newest[set]]) = entry;
    c->newest[set] = entry;
}

/* Takes a line out; what its place in the table leaves open is filled by those that were put behind it. */
static void take_out(struct cache *c, uint64_t at) {
    uint32_t entry = c->table[at];
    uint64_t set = c->line[entry] % c->sets;
    unlist(c, set, entry);
    c->held[set]--;
    c->spare[set * c->ways + c->held[set]] = entry;
    uint64_t hole = at;
    for (uint64_t next = (at + 1) & c->mask; c->table[next] != NONE; next = (next + 1) & c->mask) {
        uint64_t home = hash(c->line[c->table[next]]) & c->mask;
        if (((next - home) & c->mask) >= ((next - hole) & c->mask)) {
            c->table[hole] = c->table[next];
            hole = next;
        }
    }
    c->table[hole] = NONE;
}

/* Whether the line missed. */
static int touch(struct cache *c, uint64_t line) {
    uint64_t set = line % c->sets, at = find(c, line);
    uint32_t entry = c->table[at];
    if (entry != NONE) {
        if (c->newest[set] != entry) {
            unlist(c, set, entry);
            list_newest(c, set, entry);
        }
        return 0;
    }
    if (c->held[set] == c->ways) {
        take_out(c, find(c, c->line[c->oldest[set]]));
        at = find(c, line);
    }
    entry = c->spare[set * c->ways + c->held[set]++];
    c->line[entry] = line;
    c->table[at] = entry;
    list_newest(c, set, entry);
    return 1;
}

static void simulate(const uint64_t *words, uint64_t count, const char *name) {
    char scope[8];
    unsigned long long sets, ways;
    if (sscanf(name, "%7[a-z]:%llu:%llu", scope, &sets, &ways) != 3 || sets == 0 || ways == 0 || sets * ways >= NONE) {
        fprintf(stderr, "simulate: %s: expected private:SETS:WAYS or shared:SETS:WAYS\n", name);
        exit(2);
    }
    int shared = strcmp(scope, "shared") == 0;
    struct cache **caches = make(MOST_OWNERS, sizeof *caches), *own = NULL;
    uint32_t owners = 0;
    unsigned long long touches = 0, misses = 0;
    for (uint64_t at = 0; at < count; at++) {
        uint64_t word = words[at], kind = word >> (ADDRESS_BITS + WIDTH_BITS);
        if (kind == TURN) {
            uint32_t owner = (shared ? word >> 32 : word) & (MOST_OWNERS - 1);
            if (!caches[owner])
                caches[owner] = new_cache(sets, ways);
            if (owner >= owners)
                owners = owner + 1;
            own = caches[owner];
            continue;
        }
        uint64_t address = word & ((1ull << ADDRESS_BITS) - 1), width = word >> ADDRESS_BITS & ((1u << WIDTH_BITS) - 1);
        uint64_t last = (address + (width ? width : 1) - 1) >> LINE_BITS;
        for (uint64_t line = address >> LINE_BITS; line <= last; line++) {
            touches++;
            misses += touch(own, line);
            for (uint32_t other = 0; kind != LOAD && other < owners; other++) {
                if (!caches[other] || caches[other] == own)
                    continue;
                uint64_t place = find(caches[other], line);
                if (caches[other]->table[place] != NONE)
                    take_out(caches[other], place);
            }
        }
    }
    printf("%s %llu %llu\n", name, touches, misses);
    fflush(stdout);
    /* Memory goes with the process: there is one for each cache. */
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: simulate FILE CACHE...\n");
        return 2;
    }
    struct stat status;
    int file = open(argv[1], O_RDONLY);
    if (file < 0 || fstat(file, &status) < 0)
        fail(argv[1]);
    uint64_t count = status.st_size / sizeof(uint64_t);
    const uint64_t *words = mmap(NULL, status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (words == MAP_FAILED)
        fail("mmap");
    for (int cache = 2; cache < argc; cache++)
        simulate(words, count, argv[cache]);
    return 0;
}
