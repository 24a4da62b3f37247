// Atomic operations, on a line of the thread's own and on one that all threads share. Nothing branches on what
// they find, so the counts do not depend on the other threads.
#include "counts.h"

.bss
.balign 64
shared: .skip 64
.text

START:
//@ once
        sub     rsp, 128
        and     rsp, -64
        lea     rbx, [rip + shared]
        mov     r15, ITERATIONS
        mov     qword ptr [rsp], 0              // store 8
        mov     qword ptr [rsp + 8], 0          // store 8
        mov     qword ptr [rsp + 16], 0         // store 8
        mov     qword ptr [rsp + 24], 0         // store 8
1:
//@ each
        lock add qword ptr [rsp], 1             // load 8, store 8, atomic
        lock inc dword ptr [rbx]                // load 4, store 4, atomic
        lock or  byte ptr [rbx + 8], 1          // load 1, store 1, atomic
        lock bts dword ptr [rbx + 12], 3        // load 4, store 4, atomic
        lock not word ptr [rsp + 8]             // load 2, store 2, atomic
        // An exchange with memory is atomic without the prefix; between registers it is no access.
        xchg    rax, [rbx + 16]                 // load 8, store 8, atomic
        xchg    [rsp + 10], cl                  // load 1, store 1, atomic
        xchg    rax, rcx
        mov     edx, 1
        xadd    [rsp], rdx                      // load 8, store 8
        lock xadd [rbx + 24], edx               // load 4, store 4, atomic
        // A comparison that fails and one that succeeds: either is one load and one store.
        mov     eax, 12345
        mov     qword ptr [rsp + 16], 1         // store 8
        lock cmpxchg [rsp + 16], rdx            // load 8, store 8, atomic
        mov     eax, 1
        lock cmpxchg [rsp + 16], rdx            // load 8, store 8, atomic
        cmpxchg [rsp + 24], ecx                 // load 4, store 4
        lock cmpxchg8b [rsp + 32]               // load 8, store 8, atomic
        lock cmpxchg16b [rsp + 48]              // load 16, store 16, atomic
        cmpxchg16b [rsp + 48]                   // load 16, store 16
        // Fences are no accesses; the idiom below is one, on the stack.
        mfence
        lfence
        lock or dword ptr [rsp], 0              // load 4, store 4, atomic
        dec     r15
        jnz     1b                              // branch, taken but last
//@ once
        mov     eax, SYS_END
        xor     edi, edi
        syscall                                 // system call
