// Signals that a thread brings upon itself: sent, by an instruction that does not exist, by an access to nothing.
// An instruction that faults is not executed and counts as nothing. What the kernel pushes for a handler, and reads
// back when it returns, is the kernel's.
#include "counts.h"

#define SIGILL 4
#define SIGUSR1 10
#define SIGSEGV 11
#define SA_SIGINFO 0x4
#define SA_RESTORER 0x4000000
/* Where the instruction pointer lies in the context that a handler gets. */
#define CONTEXT_RIP 168

START:
//@ once
        sub     rsp, 256
        and     rsp, -64
        mov     r15, ITERATIONS
        // What rt_sigaction wants: handler, flags, restorer, mask.
        lea     rax, [rip + counts_up]
        mov     [rsp + 64], rax                 // store 8
        mov     qword ptr [rsp + 72], SA_SIGINFO | SA_RESTORER // store 8
        lea     rax, [rip + restorer]
        mov     [rsp + 80], rax                 // store 8
        mov     qword ptr [rsp + 88], 0         // store 8
        mov     edi, SIGUSR1
        call    install                         // call, store 8
        lea     rax, [rip + skips]
        mov     [rsp + 64], rax                 // store 8
        mov     edi, SIGILL
        call    install                         // call, store 8
        mov     edi, SIGSEGV
        call    install                         // call, store 8
        // The ids that tgkill wants.
        mov     eax, 39
        syscall                                 // system call
        mov     r13d, eax
        mov     eax, 186
        syscall                                 // system call
        mov     r14d, eax
        xor     ebx, ebx
1:
//@ each
        // Sent to this thread, so handled before the call returns.
        mov     eax, 234
        mov     edi, r13d
        mov     esi, r14d
        mov     edx, SIGUSR1
        syscall                                 // system call
        // Two bytes that are no instruction; then two bytes of a load from address 0.
        ud2                                     // faults
        mov     rcx, rsp
        xor     eax, eax
        mov     eax, [rax]                      // faults
        add     rcx, [rsp]                      // load 8
        dec     r15
        jnz     1b                              // branch, taken but last
//@ once
        mov     eax, SYS_END
        xor     edi, edi
        syscall                                 // system call

install:
//@ once x3
        mov     eax, 13
        lea     rsi, [rsp + 72]
        xor     edx, edx
        mov     r10d, 8
        syscall                                 // system call
        ret                                     // return, load 8

counts_up:
//@ each
        lock inc dword ptr [rip + received]     // load 4, store 4, atomic
        ret                                     // return, load 8

// Runs for both faults.
skips:
//@ each x2
        add     qword ptr [rdx + CONTEXT_RIP], 2 // load 8, store 8
        ret                                     // return, load 8

restorer:
//@ each x3
        mov     eax, 15
        syscall                                 // system call

.bss
received: .skip 4
