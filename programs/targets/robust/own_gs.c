/* own_gs HOW: a thread uses GS itself, set in one of the possible ways, and computes. A thread that it creates inherits GS. */
#include "robust.h"
#include <asm/prctl.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

static unsigned long words[4] = { 11, 22, 33, 44 };
static int has_fsgsbase;

static unsigned long base(void)
{
    unsigned long base = 1;
    if (has_fsgsbase)
        __asm__ volatile("rdgsbase %0" : "=r"(base));
    else
        syscall(SYS_arch_prctl, ARCH_GET_GS, &base);
    return base;
}

static unsigned long second_word(void)
{
    unsigned long word;
    __asm__ volatile("mov %%gs:8, %0" : "=r"(word));
    return word;
}

static void *inherits(void *expected)
{
    NEED(base() == (unsigned long)expected);
    burn(5);
    return NULL;
}

static void use_gs(const char *how)
{
    if (!strcmp(how, "null"))
        __asm__ volatile("xor %%eax, %%eax; mov %%eax, %%gs" ::: "eax");
    else if (!strcmp(how, "flat"))
        __asm__ volatile("mov $0x2b, %%eax; mov %%eax, %%gs" ::: "eax");
    else if (!strcmp(how, "pop"))
        __asm__ volatile("sub $128, %%rsp; push $0x2b; pop %%gs; add $128, %%rsp" ::: "memory", "cc");
    else if (!strcmp(how, "call"))
        NEED(!syscall(SYS_arch_prctl, ARCH_SET_GS, words));
    else if (!strcmp(how, "base") && has_fsgsbase)
        __asm__ volatile("wrgsbase %0" ::"r"(words));
    else
        NEED(base() == 0);
}

static void *user(void *how)
{
    /* Registers and flags keep their values. */
    unsigned long sum = 0;
    use_gs(how);
    for (unsigned long i = 0; i < 1000; i++)
        sum += i;
    NEED(sum == 499500);
    if (base()) {
        NEED(base() == (unsigned long)words);
        NEED(second_word() == 22);
    }
    burn(30);
    pthread_t heir;
    NEED(!pthread_create(&heir, NULL, inherits, (void *)base()));
    NEED(!pthread_join(heir, NULL));
    return NULL;
}

int main(int argc, char **argv)
{
    NEED(argc == 2);
    has_fsgsbase = (getauxval(AT_HWCAP2) & 2) != 0;
    pthread_t thread;
    NEED(!pthread_create(&thread, NULL, user, argv[1]));
    NEED(!pthread_join(thread, NULL));
    user(argv[1]);
    puts(argv[1]);
    return 0;
}
