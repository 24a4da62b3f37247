// Pushes, pops, calls and returns of every kind.
#include "counts.h"

.section .data.rel.ro, "aw"
.balign 8
target: .quad leaf
.text

START:
//@ once
        push    rbp                             // store 8
        mov     rbp, rsp
        sub     rsp, 256
        and     rsp, -64
        lea     rbx, [rip + leaf]
        mov     r15, ITERATIONS
        mov     qword ptr [rsp], 9              // store 8
1:
//@ each
        push    rax                             // store 8
        push    5                               // store 8
        push    cx                              // store 2
        push    qword ptr [rsp + 2]             // load 8, store 8
        pop     rdx                             // load 8
        pop     cx                              // load 2
        pop     rdx                             // load 8
        pop     rax                             // load 8
        push    qword ptr [rsp]                 // load 8, store 8
        pop     qword ptr [rsp + 16]            // load 8, store 8
        pushfq                                  // store 8
        popfq                                   // load 8
        // Direct, through a register, through memory; with arguments that the callee drops.
        call    leaf                            // call, store 8
        call    rbx                             // call, store 8
        call    [rip + target]                  // call, load 8, store 8
        push    1                               // store 8
        push    2                               // store 8
        call    drops_two                       // call, store 8
        call    nests                           // call, store 8
        // A call that never returns, as old code finds its own address.
        call    2f                              // call, store 8
2:      pop     rax                             // load 8
        // A return to where nobody called from.
        lea     rax, [rip + 3f]
        push    rax                             // store 8
        ret                                     // return, load 8
//@ never
        ud2
//@ each
3:      call    frame                           // call, store 8
        call    display                         // call, store 8
        dec     r15
        jnz     1b                              // branch, taken but last
//@ once
        mov     eax, SYS_END
        xor     edi, edi
        syscall                                 // system call

// Called three times by the loop and twice by `nests`.
leaf:
//@ each x5
        lea     rax, [rax + 1]
        ret                                     // return, load 8

drops_two:
//@ each
        mov     rax, [rsp + 8]                  // load 8
        ret     16                              // return, load 8

nests:
//@ each
        call    leaf                            // call, store 8
        call    leaf                            // call, store 8
        repz ret                                // return, load 8

frame:
//@ each
        enter   32, 0                           // store 8
        mov     [rbp - 8], rax                  // store 8
        leave                                   // load 8
        ret                                     // return, load 8

// `enter` at nesting level 2 pushes rbp, the pointer that it finds below the old frame, and the new frame's own.
display:
//@ each
        push    rbp                             // store 8
        mov     rbp, rsp
        push    rax                             // store 8
        enter   16, 2                           // load 8, store 8, store 8, store 8
        leave                                   // load 8
        leave                                   // load 8
        ret                                     // return, load 8
