// What every program of known counts shares. Each is one file of assembly, built twice:
//
//   gcc -DITERATIONS=N memory.S -o memory                          one thread: the code is `main`
//   gcc -DITERATIONS=N -DTHREADS memory.S threads.c -o memory      the code is the start routine of each thread
//
// Either ends with a system call of its own, exit_group or exit, so that nothing of the C library runs between
// its first instruction and its end, and every count of the thread is known to the unit. `tally.py` sums them from
// the comments and says how those are read; `counts.json` holds the sums.
//
// All data is on the stack, so any number of threads can run the same code, except where sharing is the point.

.intel_syntax noprefix

#ifndef ITERATIONS
#define ITERATIONS 1000
#endif

#ifdef THREADS
#define START worker
#define SYS_END 60 /* exit: of this thread */
#else
#define START main
#define SYS_END 231 /* exit_group: of the process */
#endif

.globl START
.type START, @function
.section .note.GNU-stack, "", @progbits
.text
