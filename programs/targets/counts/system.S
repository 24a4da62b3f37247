// System calls, and instructions that ask the processor. What the kernel reads and writes does not count.
#include "counts.h"

START:
//@ once
        sub     rsp, 256
        and     rsp, -64
        mov     r15, ITERATIONS
1:
//@ each
        mov     eax, 39
        syscall                                 // system call
        // uname writes 390 bytes, all by the kernel; here into nothing, so that it fails.
        mov     eax, 63
        xor     edi, edi
        syscall                                 // system call
        // clock_gettime of the monotonic clock.
        mov     eax, 228
        mov     edi, 1
        mov     rsi, rsp
        syscall                                 // system call
        // No call of this number.
        mov     eax, 100000
        syscall                                 // system call
        rdtsc
        xor     eax, eax
        xor     ecx, ecx
        xgetbv
        pause
        dec     r15
        jnz     1b                              // branch, taken but last
//@ once
        mov     eax, SYS_END
        xor     edi, edi
        syscall                                 // system call
