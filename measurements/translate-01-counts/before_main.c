// Preloaded into a program, it lets `main` run; or ends the program in its place, if CAROM_COUNTS_BEFORE_MAIN is the
// program's name. The difference between the two is what the program does from `main` on, for counters that begin
// with the first instruction of the process. A name that differs in one letter makes the other run, so that
// everything before `main` is the same: nothing here branches on what the letters are.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef int main_function(int, char **, char **);
typedef int start_function(main_function *, int, char **, main_function *, void (*)(void), void (*)(void), void *);

// In the place of `main`: three instructions, no access.
int carom_end(int argc, char **argv, char **environment);
__asm__(".text\ncarom_end: mov $231, %eax\n xor %edi, %edi\n syscall\n");

int __libc_start_main(main_function *main, int argc, char **argv, main_function *init, void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end) {
    start_function *start = (start_function *)dlsym(RTLD_NEXT, "__libc_start_main");
    const char *name = getenv("CAROM_COUNTS_BEFORE_MAIN");
    size_t length = strlen(argv[0]);
    int same_length = name != NULL && strlen(name) == length;
    unsigned different = !same_length;
    for (size_t i = 0; i < length && same_length; i++)
        different |= (unsigned)(name[i] ^ argv[0][i]);
    main_function *choice[] = {carom_end, main};
    return start(choice[different != 0], argc, argv, init, fini, rtld_fini, stack_end);
}
