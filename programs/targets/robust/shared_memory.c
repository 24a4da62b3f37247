// Processes that count in words of one line of memory that they share.
//
// shared_memory WAY FIELDS PROCESSES [exec] [offset] [threads]
//   WAY      anonymous, memfd, shm, file, sysv
//   FIELDS   neighbours: each process has a word of its own; same: all have the first
//   exec     children execute this program again, and map the memory anew
//   offset   children map it from its second page on, elsewhere
//   threads  each process counts by two threads, in words of their own
//   again    then each counts in the first word of memory of its own, at the same address
//   long     ten times as many counts, for samples by time and for busy machines
// The line is the third one of the second page.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096L
#define BYTES (4 * PAGE)
#define LINE_AT (PAGE + 128)

static const char *way, *fields;
static int processes, threads, offset, again;
static long times = 40000000L;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static int is(const char *name) {
    return strcmp(way, name) == 0;
}

// Makes the memory, and says how another program finds it: a path, a descriptor, or a number.
static void make(char *where, size_t size) {
    int fd = -1;
    if (is("memfd")) {
        fd = memfd_create("counters", 0);
        snprintf(where, size, "%d", fd);
    } else if (is("shm")) {
        snprintf(where, size, "/carom-test-%d", getpid());
        fd = shm_open(where, O_CREAT | O_EXCL | O_RDWR, 0600);
    } else if (is("file")) {
        snprintf(where, size, "/tmp/carom-test-%d", getpid());
        fd = open(where, O_CREAT | O_EXCL | O_RDWR, 0600);
    } else if (is("sysv")) {
        int id = shmget(IPC_PRIVATE, BYTES, IPC_CREAT | 0600);
        if (id < 0) fail("shmget");
        snprintf(where, size, "%d", id);
        return;
    } else {
        snprintf(where, size, "inherited");
        return;
    }
    if (fd < 0) fail("open");
    if (ftruncate(fd, BYTES) < 0) fail("ftruncate");
    if (!is("memfd")) close(fd);
}

static void forget(const char *where) {
    if (is("shm")) shm_unlink(where);
    if (is("file")) unlink(where);
    if (is("sysv")) shmctl(atoi(where), IPC_RMID, NULL);
}

// What is mapped, and how much of it.
static char *mapped;
static size_t length;

// The line, in memory that is mapped from `from` on.
static volatile long *map(const char *where, long from) {
    char *memory;
    if (is("anonymous")) {
        memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    } else if (is("sysv")) {
        // A segment is attached as a whole.
        memory = shmat(atoi(where), NULL, 0);
        from = 0;
    } else {
        int fd = is("memfd") ? atoi(where) : is("shm") ? shm_open(where, O_RDWR, 0) : open(where, O_RDWR);
        if (fd < 0) fail("open again");
        memory = mmap(NULL, BYTES - from, PROT_READ | PROT_WRITE, MAP_SHARED, fd, from);
        if (!is("memfd")) close(fd);
    }
    if (memory == (void *)-1) fail("map");
    mapped = memory;
    length = BYTES - from;
    return (volatile long *)(memory + LINE_AT - from);
}

// Puts memory of this process in place of what is shared.
static void replace(void) {
    if (is("sysv") ? shmdt(mapped) : munmap(mapped, length)) fail("unmap");
    void *own = mmap(mapped, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (own != mapped) fail("map again");
}

// Not inlined, so that reports can name it.
__attribute__((noinline)) static void count_in(volatile long *word) {
    for (long i = 0; i < times; i++) *word += 1;
}

static void *count_by_thread(void *word) {
    count_in(word);
    return NULL;
}

// Ends of two pipes, also in programs that are executed.
enum { READY, TELL_READY, GO, TELL_GO, ENDS };
#define END(which) (100 + (which))

static void open_pipes(void) {
    int ends[ENDS];
    if (pipe(ends) || pipe(ends + 2)) fail("pipe");
    for (int i = 0; i < ENDS; i++) {
        if (dup2(ends[i], END(i)) < 0) fail("dup2");
        close(ends[i]);
    }
}

static void tell(int end) {
    if (write(END(end), "", 1) != 1) fail("write");
}

static void await(int end) {
    char byte;
    if (read(END(end), &byte, 1) != 1) fail("read");
}

// All begin together: on a busy machine one would be done before another has begun.
static void meet(int process) {
    if (process > 0) {
        tell(TELL_READY);
        await(GO);
        return;
    }
    for (int i = 1; i < processes; i++) await(READY);
    for (int i = 1; i < processes; i++) tell(TELL_GO);
}

static void work(volatile long *line, int process) {
    int word = strcmp(fields, "same") == 0 ? 0 : process;
    pthread_t other;
    meet(process);
    if (threads && pthread_create(&other, NULL, count_by_thread, (void *)(line + 4 + process))) fail("thread");
    count_in(line + word);
    if (threads) pthread_join(other, NULL);
    if (again) {
        replace();
        count_in(line);
    }
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    way = argv[1];
    fields = argv[2];
    processes = atoi(argv[3]);
    int execs = 0, child = -1;
    const char *given = NULL;
    for (int i = 4; i < argc; i++) {
        if (strcmp(argv[i], "exec") == 0) execs = 1;
        if (strcmp(argv[i], "offset") == 0) offset = 1;
        if (strcmp(argv[i], "threads") == 0) threads = 1;
        if (strcmp(argv[i], "again") == 0) again = 1;
        if (strcmp(argv[i], "long") == 0) times *= 10;
        if (strcmp(argv[i], "child") == 0) {
            child = atoi(argv[i + 1]);
            given = argv[i + 2];
            break;
        }
    }
    if (child >= 0) {
        work(map(given, offset ? PAGE : 0), child);
        return 0;
    }
    char where[64];
    make(where, sizeof where);
    volatile long *line = map(where, 0);
    open_pipes();
    for (int i = 1; i < processes; i++) {
        pid_t pid = fork();
        if (pid < 0) fail("fork");
        if (pid > 0) continue;
        if (execs) {
            char *same[16], number[16];
            int n = 0;
            for (; n < argc && n < 10; n++) same[n] = argv[n];
            snprintf(number, sizeof number, "%d", i);
            same[n++] = "child";
            same[n++] = number;
            same[n++] = where;
            same[n] = NULL;
            execv("/proc/self/exe", same);
            fail("exec");
        }
        work(offset ? map(where, PAGE) : line, i);
        exit(0);
    }
    work(line, 0);
    int good = 1, status;
    while (wait(&status) > 0) good &= status == 0;
    forget(where);
    // What was counted is gone then.
    if (again) line[0] = times;
    if (again) processes = 1;
    // Words of their own are exact; those that all share lose updates.
    long most = strcmp(fields, "same") == 0 ? times * processes : times;
    for (int i = 0; i < (most > times ? 1 : processes); i++) {
        good &= most > times ? line[i] > 0 && line[i] <= most : line[i] == times;
    }
    puts(good ? "counted" : "wrong");
    return !good;
}
