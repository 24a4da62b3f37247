/* errno stays what the program made it, wherever it is interrupted or sampled: also where no call path leads out,
 * because nothing says how to unwind a function whose frame pointer points nowhere. */
#include "robust.h"

void unwindable_by_nobody(void);

__asm__(".text\n"
        ".globl unwindable_by_nobody\n"
        ".type unwindable_by_nobody, @function\n"
        "unwindable_by_nobody:\n"
        "    push %rbp\n"
        "    mov $0x7261702d2d006e00, %rbp\n"
        "    mov $2000000, %ecx\n"
        "1:  addq $1, -8(%rsp)\n"
        "    dec %ecx\n"
        "    jnz 1b\n"
        "    pop %rbp\n"
        "    ret\n");

int main(void)
{
    for (int i = 0; i < 10; i++) {
        errno = i % 2 ? EDOM : 0;
        unwindable_by_nobody();
        NEED(errno == (i % 2 ? EDOM : 0));
    }
    puts("kept");
    return 0;
}
