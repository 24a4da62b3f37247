/* A thread unmaps its own stack together with its control block, and ends by the system call. */
#include "robust.h"
#include <dirent.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <sys/syscall.h>

#define BYTES (256 << 10)

static void *end(void *stack)
{
    burn(20);
    /* The kernel would write into the control block. */
    char *block = __builtin_thread_pointer();
    syscall(SYS_rseq, block + __rseq_offset, 32, RSEQ_FLAG_UNREGISTER, RSEQ_SIG);
    /* For a while it has neither: whatever interrupts it must need neither. */
    asm volatile("syscall; mov $5000000, %%ecx; 1: dec %%ecx; jnz 1b; mov %[exit], %%eax; xor %%edi, %%edi; syscall"
                 :
                 : "a"(SYS_munmap), "D"(stack), "S"(BYTES), [exit] "i"(SYS_exit)
                 : "memory", "rcx", "r11");
    __builtin_unreachable();
}

static int threads(void)
{
    int found = 0;
    struct dirent *entry;
    DIR *list = opendir("/proc/self/task");
    NEED(list);
    while ((entry = readdir(list)))
        found += entry->d_name[0] != '.';
    closedir(list);
    return found;
}

int main(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    void *stack = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    NEED(stack != MAP_FAILED);
    pthread_attr_init(&attributes);
    NEED(!pthread_attr_setstack(&attributes, stack, BYTES));
    NEED(!pthread_create(&thread, &attributes, end, stack));
    /* The library does not know that the thread ended. */
    while (threads() > 1)
        usleep(1000);
    puts("ended");
    fflush(stdout);
    _exit(0);
}
