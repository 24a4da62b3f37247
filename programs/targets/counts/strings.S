// String instructions: one load, store or both per iteration; a repeated one is one instruction however often.
#include "counts.h"

START:
//@ once
        sub     rsp, 8192
        and     rsp, -64
        cld
        mov     r15, ITERATIONS
        // The lower 4 KiB become 1s, the upper 2s.
        mov     rdi, rsp
        mov     al, 1
        mov     ecx, 4096
        rep stosb                               // store 1 x4096
        mov     al, 2
        mov     ecx, 4096
        rep stosb                               // store 1 x4096
1:
//@ each
        // Each once.
        mov     rsi, rsp
        lea     rdi, [rsp + 4096]
        movsb                                   // load 1, store 1
        movsw                                   // load 2, store 2
        movsd                                   // load 4, store 4
        movsq                                   // load 8, store 8
        lodsq                                   // load 8
        stosd                                   // store 4
        scasb                                   // load 1
        cmpsd                                   // load 4, load 4
        // Copies of each width; forwards and backwards.
        mov     rsi, rsp
        lea     rdi, [rsp + 4096]
        mov     ecx, 37
        rep movsb                               // load 1 x37, store 1 x37
        mov     ecx, 5
        rep movsw                               // load 2 x5, store 2 x5
        mov     ecx, 6
        rep movsd                               // load 4 x6, store 4 x6
        mov     ecx, 300
        rep movsq                               // load 8 x300, store 8 x300
        std
        lea     rsi, [rsp + 1024]
        lea     rdi, [rsp + 5120]
        mov     ecx, 9
        rep movsb                               // load 1 x9, store 1 x9
        cld
        // No iterations at all: an instruction without accesses.
        xor     ecx, ecx
        rep movsq
        rep stosb
        repe cmpsb
        // The lower half is all 1s: as many iterations as asked for.
        mov     rsi, rsp
        lea     rdi, [rsp + 64]
        mov     ecx, 20
        repe cmpsb                              // load 1 x20, load 1 x20
        mov     ecx, 3
        rep lodsd                               // load 4 x3
        // A 2 at the 11th place is found there; a 1 that is not equal to 2 ends a search for it at once.
        mov     byte ptr [rsp + 10], 2          // store 1
        mov     rdi, rsp
        mov     al, 2
        mov     ecx, 100
        repne scasb                             // load 1 x11
        mov     rdi, rsp
        mov     ecx, 100
        repe scasb                              // load 1
        // The same place differs from the 1s beside it: 10 equal pairs and the one that is not.
        mov     rsi, rsp
        lea     rdi, [rsp + 64]
        mov     ecx, 100
        repe cmpsb                              // load 1 x11, load 1 x11
        mov     byte ptr [rsp + 10], 1          // store 1
        // Wide stores, and a count in the lower half of the register alone.
        lea     rdi, [rsp + 4096]
        xor     eax, eax
        mov     ecx, 17
        rep stosq                               // store 8 x17
        mov     edx, 3
        mov     rcx, 0x100000002
        jecxz   2f                              // branch
2:      mov     ecx, edx
        rep stosw                               // store 2 x3
        dec     r15
        jnz     1b                              // branch, taken but last
//@ once
        mov     eax, SYS_END
        xor     edi, edi
        syscall                                 // system call
