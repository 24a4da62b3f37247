// The extended state: one access of the area for what is asked for, here x87 and SSE: 512 bytes of the old format
// and 64 of the header.
#include "counts.h"
//@ needs xsave

START:
//@ once
        sub     rsp, 8192
        and     rsp, -64
        mov     r15, ITERATIONS
        // The header must be zero where `xsave` does not write it.
        mov     rdi, rsp
        xor     eax, eax
        mov     ecx, 1024
        rep stosq                               // store 8 x1024
1:
//@ each
        mov     eax, 3
        xor     edx, edx
        xsave   [rsp]                           // store 576
        mov     eax, 3
        xrstor  [rsp]                           // load 576
        dec     r15
        jnz     1b                              // branch, taken but last
//@ once
        mov     eax, SYS_END
        xor     edi, edi
        syscall                                 // system call
