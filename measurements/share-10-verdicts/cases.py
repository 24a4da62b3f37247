"""Programs with a known culprit, and what an expert says of each, written down before carom was asked."""

from dataclasses import dataclass, field


@dataclass
class Case:
    """`kind`: that of the remedy for the worst finding, or None where there is nothing to find. `says`: expressions that verdict and
    remedy together must match; `never`: what neither may say."""

    source: str
    expert: str
    kind: str = None
    says: list = field(default_factory=list)
    never: list = field(default_factory=list)
    options: list = field(default_factory=list)
    flags: list = field(default_factory=list)

    @property
    def name(self):
        return self.source


PADDING = ["alignas", "_Alignas", "own cache line", "CachePadded"]

CASES = [
    Case("ring.c", "head, which the producer writes, and tail, which the consumer writes, share a line: start one on its own; each side's "
         "index is read by the other one as well", "pad-then-share-less|pad", [r"`ring\.(tail|head)` on its own cache line"],
         [r"slots\[\d+\]` on"]),
    Case("mutex.c", "contention for the mutex, taken in deposit: shorten it or use several", "contend",
         [r"the mutex `lock`", r"`deposit` \(mutex\.c:11\)"], PADDING + ["false sharing"]),
    Case("beside_mutex.cpp", "contention for the mutex in cache, taken in lookup; its neighbours are protected by it", "contend",
         [r"the mutex `cache\.mutex_`|the mutex `mutex_`", r"lookup"], PADDING + ["false sharing"]),
    Case("rwlock.cpp", "every reader changes the lock's count of readers", "contend", [r"the reader-writer lock `guard", r"rwlock\.cpp:\d+"],
         PADDING + ["false sharing"]),
    Case("spinlock.c", "contention for the spinlock that protects its neighbours", "contend", [r"the spinlock", r"`add` \(spinlock\.c:\d+\)"],
         PADDING + ["false sharing"]),
    Case("atomic_flag.c", "contention for the flag that is used as a lock", "contend", [r"the spinlock `busy`"], PADDING + ["false sharing"]),
    Case("semaphores.c", "two threads hand a token back and forth", "contend", [r"the semaphore"], PADDING + ["false sharing"], ["--period", "2000"]),
    Case("references.cpp", "threads count references in 5,000 objects: pass by reference", "contend",
         [r"reference count", r"by reference"], PADDING + ["false sharing"]),
    Case("references.cpp", "the same, by allocation site", "contend", [r"reference count", r"by reference"],
         PADDING + ["false sharing"], ["--objects"]),
    Case("references.rs", "threads count the references of one Arc", "contend", [r"reference count", r"by reference"],
         PADDING + ["false sharing"]),
    Case("mutex.rs", "contention for the mutex, taken in main's closure", "contend", [r"a mutex", r"mutex\.rs:\d+"], PADDING + ["false sharing"]),
    Case("critical.c", "contention for OpenMP's critical section", "contend", [r"mutex", r"critical\.c:\d+"], PADDING + ["false sharing"],
         flags=["-fopenmp"]),
    Case("per_thread.c", "struct worker has 24 bytes and each thread its own: align the type", "pad-elements",
         [r"`workers` is an array of `struct worker`, 24 bytes", r"Align the type"]),
    Case("counts.c", "each thread has its own long of counts: count in a local variable or give each a line", "pad-elements",
         [r"`counts` is an array of `long int`, 8 bytes"]),
    Case("stack.cpp", "Result has 16 bytes and each thread its own, on the stack of main", "pad-elements|pad", [r"false sharing", r"stack of"]),
    Case("read_mostly.c", "the counter of requests beside settings that others read: start it on its own line", "pad",
         [r"`server\.(requests|connections)` on its own cache line"]),
    Case("counter.c", "all threads add to one counter: one for each thread", "share-less", [r"`requests`", r"its own copy", "Padding does not help"],
         PADDING + ["false sharing"]),
    Case("apart.c", "nothing is shared", None, [r"No line was seen to bounce"]),
]
