"""Programs with a known culprit, and what an expert says of each, written down before carom was asked."""

from dataclasses import dataclass, field


@dataclass
class Case:
    """`kind`: that of the remedy for the worst finding, or None where there is nothing to find. `says`: expressions that verdict and
    remedy together must match; `never`: what neither may say. `fixed`: an expression for the name of the finding that is gone from
    the program that was compiled with the expert's remedy (`FIX`)."""

    source: str
    expert: str
    kind: str = None
    says: list = field(default_factory=list)
    never: list = field(default_factory=list)
    options: list = field(default_factory=list)
    flags: list = field(default_factory=list)
    fixed: str = None

    @property
    def name(self):
        return self.source


PADDING = ["alignas", "_Alignas", "own cache line", "CachePadded", "false sharing"]
OPENMP = ["-fopenmp"]
FORTRAN = ["-cpp", "-fopenmp"]
# What is true of every remedy for false sharing.
APART = ["less often", "ontend", "Padding does not help"]

CASES = [
    Case("ring.c", "head, which the producer writes, and tail, which the consumer writes, share a line: start one on its own; each side's "
         "index is read by the other one as well", "pad-then-share-less|pad", [r"`ring\.(tail|head)` on its own cache line"],
         [r"slots\[\d+\]` on"], fixed="ring"),
    Case("mutex.c", "contention for the mutex, taken in deposit: shorten it or use several", "contend",
         [r"the mutex `lock`", r"`deposit` \(mutex\.c:\d+\)"], PADDING, fixed="lock|accounts"),
    Case("beside_mutex.cpp", "contention for the mutex in cache, taken in lookup; its neighbours are protected by it", "contend",
         [r"the mutex `cache\.mutex_`|the mutex `mutex_`", r"lookup"], PADDING),
    Case("rwlock.cpp", "every reader changes the lock's count of readers", "contend", [r"the reader-writer lock `guard", r"rwlock\.cpp:\d+"],
         PADDING),
    Case("spinlock.c", "contention for the spinlock that protects its neighbours", "contend", [r"the spinlock", r"`add` \(spinlock\.c:\d+\)"],
         PADDING),
    Case("atomic_flag.c", "contention for the flag that is used as a lock", "contend", [r"the spinlock `busy`"], PADDING),
    Case("semaphores.c", "two threads hand a token back and forth", "contend", [r"the semaphore"], PADDING, ["--period", "2000"]),
    Case("references.cpp", "threads count references in 5,000 objects: pass by reference", "contend",
         [r"reference count", r"by reference"], PADDING, ["--no-objects"], fixed="operator"),
    Case("references.cpp", "the same, by allocation site", "contend", [r"reference count", r"by reference"],
         PADDING),
    Case("references.rs", "threads count the references of one Arc", "contend", [r"reference count", r"by reference"],
         PADDING),
    Case("mutex.rs", "contention for the mutex, taken in main's closure", "contend", [r"(a|the) mutex", r"mutex\.rs:\d+"], PADDING),
    Case("critical.c", "contention for OpenMP's critical section", "contend", [r"critical section", r"critical\.c:\d+"], PADDING,
         flags=OPENMP),
    Case("per_thread.c", "struct worker has 24 bytes and each thread its own: align the type", "pad-elements",
         [r"`workers` is an array of `struct worker`, 24 bytes", r"Align the type"], fixed="workers"),
    Case("counts.c", "each thread has its own long of counts: count in a local variable or give each a line", "pad-elements",
         [r"`counts` is an array of `long int`, 8 bytes"], fixed="counts"),
    Case("stack.cpp", "Result has 16 bytes and each thread its own, on the stack of main", "pad-elements|pad", [r"false sharing", r"stack of"], fixed="stack of|results"),
    Case("read_mostly.c", "the counter of requests beside settings that others read: start it on its own line", "pad",
         [r"`server\.(requests|connections)` on its own cache line"], fixed="server"),
    Case("counter.c", "all threads add to one counter: one for each thread", "share-less", [r"`requests`", r"its own copy", "Padding does not help"],
         PADDING, fixed="requests"),
    Case("apart.c", "nothing is shared", None, [r"No line was seen to bounce"]),

    # False sharing.
    Case("sums.f90", "each thread has its own real(8) of sums: OpenMP's reduction, or a local variable", "pad-elements",
         [r"false sharing", r"`(sums_of_threads::)?sums` is an array of `real\(kind=8\)`, 8 bytes", r"reduction|variable of its own"], APART + ["alignas", "repr"],
         flags=FORTRAN, fixed="sums"),
    Case("common.f90", "hits and misses, neighbours in the common block state, are written by different threads: unused bytes between",
         "pad", [r"false sharing", r"unused bytes between `\S*hits` and `\S*misses`"], APART + ["alignas", "repr"], flags=FORTRAN,
         fixed="hits|misses|state"),
    Case("tallies.cpp", "struct Tally has 16 bytes and each thread of the region its own: align the type", "pad-elements",
         [r"false sharing", r"`tallies` is an array of `struct Tally`, 16 bytes", r"Align the type to 64 bytes: `alignas"], APART,
         flags=OPENMP, fixed="tallies"),
    Case("neighbours.c", "received and sent, of two files, share a line: align one of them", "pad",
         [r"false sharing", r"Start `(received|sent)` .*on (its own cache line|cache lines of their own): `_Alignas"], APART, fixed="received|sent"),
    Case("settings.c", "the counter of errors beside a setting that others read: start it on its own line", "pad",
         [r"false sharing", r"Start `(errors|verbose)` .*on (its own cache line|cache lines of their own): `_Alignas"], APART, fixed="errors|verbose"),
    Case("straddle.cpp", "the elements have 64 bytes and are not aligned, so neighbours meet in a line: aligned allocation", "pad|pad-elements",
         [r"false sharing", r"[Aa]llocat|boundary|own cache line"], APART, ["--no-objects"], fixed="heap"),
    Case("straddle.cpp", "the same, by allocation site and type", "pad-elements",
         [r"false sharing", r"`struct Lane`, 64 bytes", r"Allocate it at a 64-byte boundary"], APART),
    Case("heap_pair.c", "blocks of malloc share a line: allocate each at a 64-byte boundary", "pad",
         [r"false sharing", r"(block|thread's part|object).* its own cache line"], APART, ["--no-objects"], fixed="heap"),
    Case("heap_pair.c", "the same, by allocation site and type", "align-blocks",
         [r"false sharing", r"struct progress", r"aligned_alloc|64-byte boundary"], APART),
    Case("results.cpp", "each thread has its own int in the vector: count in a local variable", "pad|pad-elements",
         [r"false sharing", r"(part|element|variable)"], APART, fixed="heap|block"),
    Case("atomics.rs", "each thread has its own counter in the vector: align the type, or CachePadded", "pad|pad-elements",
         [r"false sharing", r"CachePadded|repr\(align"], APART + ["alignas"], fixed="heap|block"),
    Case("stack_array.c", "each thread has its own struct sum of an array on main's stack: align the type, or add up in a local variable",
         "pad|pad-elements", [r"false sharing", r"stack|sums", r"_Alignas"], APART, fixed="stack|sums"),

    # Locks.
    Case("barrier.c", "threads meet at the barrier too often: more work between two meetings", "contend",
         [r"the barrier `meeting`", r"`step` \(barrier\.c:\d+\)", "more work"], PADDING, ["--period", "2000"], fixed="meeting"),
    Case("queue.cpp", "contention for the queue's mutex, taken in push and pop for single items: hand over many at a time", "contend",
         [r"the (mutex|condition variable) `queue\.(mutex_|filled_)", r"Queue::(push|pop)", r"several items|for many"], PADDING),
    Case("rwlock.rs", "every reader changes the lock's count of readers: keep a copy, or take it once for many reads", "contend",
         [r"reader-writer lock", r"rwlock\.rs:\d+", "once for many"], PADDING, fixed="PRICES"),
    Case("parking_lot", "contention for the mutex, taken in count: count into a table of one's own", "contend",
         [r"(a|the) mutex", r"main\.rs:\d+"], PADDING, fixed="stack|table|heap|block"),
    Case("c11_mutex.c", "contention for the mutex guard, taken in push: push many at a time", "contend",
         [r"the mutex `list\.guard`", r"`push` \(c11_mutex\.c:\d+\)"], PADDING, fixed="list"),
    Case("test_and_set.c", "contention for the lock that is made of the int locked, taken in deposit", "contend",
         [r"the (spin)?lock `locked`", r"`deposit` \(test_and_set\.c:\d+\)"], PADDING, fixed="locked|balance"),
    Case("ticket.cpp", "contention for the ticket lock turnstile, taken in enter", "contend",
         [r"the (spin)?lock `turnstile", r"`enter(\(.*\))?` \(ticket\.cpp:\d+\)"], PADDING, ["--period", "20000"], fixed="turnstile|visitors"),
    Case("protected.cpp", "contention for the mutex guard, taken in report, and the statistics that it protects: collect in each thread",
         "contend", [r"the mutex `guard`", r"`report(\(.*\))?` \(protected\.cpp:\d+\)"], PADDING, fixed="guard|total"),
    Case("beside_lock.c", "the limit that others read lies beside the mutex: start it on its own line", "pad|pad-then-share-less",
         [r"Start `gate\.limit` on its own cache line"], [r"Padding does not help", r"__data|__lock|__owner|__nusers|__kind"]),

    # True sharing.
    Case("omp_atomic.c", "all threads add to one number atomically: OpenMP's reduction", "share-less",
         [r"true sharing", r"`matches`", r"reduction|its own copy", "Padding does not help"], PADDING, flags=OPENMP, fixed="matches"),
    Case("index.c", "true sharing of head, tail and the slots: look at the other side's index less often, hand over several at a time",
         "share-less", [r"true sharing", r"`ring\.(head|tail)`", r"several at a time|keep a copy"], PADDING[:-1]),
    Case("spread.rs", "threads count references of 2,000 Arcs: pass by reference", "contend", [r"reference count", r"by reference"], PADDING,
         fixed="heap|block"),
    Case("intrusive.cpp", "threads count references of one object by a class of their own: pass by reference", "contend",
         [r"reference count", r"`serve(\(int\))?` \(intrusive\.cpp:\d+\)", r"by reference"], PADDING, fixed="heap|block"),
    Case("hits.c", "all threads count in both fields of a struct: counters of each thread's own", "share-less",
         [r"`struct stats\.(hits|misses)`", r"its own copy", "Padding does not help"], PADDING[:-1]),
    Case("visited.c", "all threads write all words of a set of bits: a set for each, combined at the end", "share-less",
         [r"the elements of `visited`", r"its own copy", "Padding does not help"], PADDING[:-1] + [r"visited\[\d"], fixed="visited"),
    Case("bins.f90", "all threads add to all bins: OpenMP's reduction", "share-less",
         [r"the elements of `histogram`", "reduction", "Padding does not help"], PADDING[:-1] + ["unused bytes"], flags=FORTRAN,
         fixed="histogram"),
    Case("shards.rs", "sixteen mutexes are too few: more of them", "contend",
         [r"the mutexes `struct Mutex<HashMap<u64, u64>>\[\.\.\]", "use more of them", r"shards\.rs:\d+"], PADDING),
    Case("stream.c", "each line takes the lock of the stream, in work: format many and write them at once", "contend",
         [r"lock of a stream", r"`work` \(stream\.c:\d+\)", r"buffer of its own"], PADDING),
    Case("print.rs", "the same of the standard output", "contend", [r"lock of a stream", r"print\.rs:\d+", r"buffer of its own"], PADDING),
    Case("arena.c", "all threads allocate from one arena: allocate less, or take another allocator", "contend",
         [r"lock of the allocator", r"`work` \(arena\.c:\d+\)", r"llocate less"], PADDING),

    Case("channel.rs", "threads send number after number by a channel of the library: several at a time", "contend",
         [r"channel", r"channel\.rs:\d+", r"several (items )?at a time"], PADDING),
    Case("rounds.cpp", "threads of each round add up in neighbouring elements of a vector: in a local variable", "pad|pad-elements",
         [r"false sharing", r"32-byte block", r"variable of its own"], APART, fixed="32-byte block"),

    Case("deque.cpp", "bottom, which the owner writes, and top, which thieves write, share a line: start one of them on its own; each side looks"
         " at the other's as well", "pad|pad-then-share-less",
         [r"false sharing", r"Start `deque\.(top_|bottom_)`.* on (its own cache line|cache lines of their own)"], APART[1:], fixed="deque"),
    Case("free_lists.c", "struct list has 16 bytes and each thread its own, with its own lock: align the type; nobody waits for a lock",
         "pad-elements", [r"false sharing", r"`lists` is an array of `struct list`, 16 bytes", r"Align the type"], APART, fixed="lists"),
    Case("per_worker.rs", "each worker has its own AtomicU64 of the vector, a type that nobody can align: count in a local variable, or"
         " CachePadded", "pad-elements", [r"false sharing", r"AtomicU64", r"variable of its own", r"CachePadded"], [*APART, "Align the type"]),
    Case("service.cpp", "the counter of what was served beside the object's table of functions, which others read for each call: start it on its"
         " own line", "pad", [r"false sharing", r"Start `adder\.served_` on its own cache line"], APART, fixed="adder"),
    Case("chunks.rs", "pieces of five numbers share lines with their neighbours: work in a local array, and copy it at the end", "pad|pad-elements",
         [r"false sharing", r"variable of its own"], APART, fixed="block"),
    Case("steps.f90", "type(statistics) has 24 bytes and each thread its own: a local variable, or unused bytes at its end", "pad-elements",
         [r"false sharing", r"of_thread` is an array of `type\(statistics\)|struct statistics`, 24 bytes", r"unused bytes"],
         [*APART, "alignas", "repr"], flags=FORTRAN, fixed="of_thread"),
    Case("rows.c", "rows of 24 bytes, one for each thread, share lines: local sums, OpenMP's reduction, or longer rows", "pad-elements|pad",
         [r"false sharing", r"`sums`", r"variable of its own|reduction"], APART, flags=OPENMP),

    Case("dice.c", "rand takes a lock of the C library, which nobody can part or shorten: a generator for each thread", "contend",
         [r"library function `rand`", r"`throw_darts` \(dice\.c:\d+\)", r"rand_r"], [*PADDING, "several locks", "Hold"], fixed="unsafe_state"),
    Case("dynamic.c", "iterations are handed out one by one: larger chunks, or schedule(static)", "contend",
         [r"runtime of OpenMP", r"dynamic\.c:\d+", r"schedule\(static\)"], PADDING, flags=OPENMP),
    Case("bank.cpp", "eight accounts are few, and all threads lock all of them: shorter or rarer; nothing is to be parted", "contend",
         [r"the mutexes `struct Account\[\.\.\]\.mutex`", r"transfer"], PADDING),
    Case("sieve.cpp", "all threads write all words of a vector of bits: one for each, combined at the end", "share-less",
         [r"the elements of `25000-byte block", r"its own copy", "Padding does not help"], PADDING[:-1]),
    Case("seqlock.c", "one thread writes for others by design: publish less often, or let readers keep a copy", "share-less",
         [r"`quote\.", r"keep a copy", "Padding does not help"], PADDING[:-1]),
    Case("cursor.c", "all threads add to the index of the next item: take several at a time", "share-less",
         [r"`work\.next`", r"batch|several", "Padding does not help"], PADDING[:-1]),
    Case("stop_flag.rs", "all workers add to one counter: one for each; nothing counts references", "share-less",
         [r"\.done`", r"its own copy", "Padding does not help"], [*PADDING[:-1], "eference count"]),
    Case("free_nodes.cpp", "all threads exchange the head of one stack: nodes of each thread's own, or several at a time", "share-less",
         [r"`head`", r"its own copy|several", "Padding does not help"], PADDING[:-1]),

    # Arrays in pieces that are too small.
    Case("cyclic.c", "elements are dealt out one by one: a contiguous piece for each thread, schedule(static)", "larger-pieces",
         [r"false sharing", r"contiguous piece", r"schedule\(static\)"], APART + ["alignas"], flags=OPENMP, fixed="heap|block"),
    Case("columns.f90", "the parallel loop runs over the first index of a: over the last one, so that threads have whole columns",
         "larger-pieces", [r"false sharing", r"of `a of columns", r"whole columns"], APART + ["unused bytes"], flags=FORTRAN, fixed="a of columns"),

    # Nothing.
    Case("private.rs", "nothing is shared", None, [r"No line was seen to bounce"]),
    Case("read_only.cpp", "all threads read one table, and nobody writes it", None, [r"No line was seen to bounce"]),
    Case("reduction.f90", "each thread has its own sum until the end", None, [r"No line was seen to bounce"], flags=FORTRAN),
]
