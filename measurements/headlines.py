"""What docs/benchmarks.md shows first: a question, the campaign and the criterion that answer it, and what stands beside.

A criterion is named by how it begins; its number is the one that was measured last. What stands beside is from a paper, for
its own machine and programs, or was measured in the same campaign.
"""

ACCURACY = [
    ("Fraction of false sharing, against the known one", "share-01-false-fraction", "the mean over runs", ""),
    ("The contended instruction is ranked first, in loops of up to 200", "share-02-contended-loop", "line and instruction", ""),
    ("Planted culprits named to variable, field and padding", "share-05-culprit", "counters: variable", ""),
    ("Lines that two processes share, five ways, `translate`", "share-09-processes", "`translate`: found", ""),
    ("Volume between pairs of threads in the right cells", "translate-07-point-to-point", "registers: at least 95%", ""),
    ("Exact counts of every event and thread", "translate-01-counts", "every event", ""),
    ("Loads and stores, against Valgrind", "translate-01-counts", "loads and stores within 0.01% of lackey", "Valgrind's lackey: the same"),
    ("Sampled accesses that are wrong in instruction, address, width or kind", "translate-02-sampling", "instruction, address",
     "PEBS 0.1%, IBS 5% to 17% of load misses (Sasongko and others)"),
    ("Reuse distances of RIBench, mean accuracy", "reuse-01-ribench", "software: accuracy at least 0.97", "ReuseTracker 0.92, RDX 0.90"),
    ("Miss ratios, exact, against a cache simulator", "reuse-04-curves", "exact mode", ""),
    ("Miss ratios of private caches, sampled against exact", "reuse-04-curves", "sampled, StatStack", ""),
    ("Miss ratios of shared caches, sampled against exact", "reuse-08-shared", "sampled within 0.03", ""),
    ("Coherence misses that a targeted trace with all stores covers, eight kernels", "simulate-01-reduced", "SMPL-1: average coverage",
     "Marathe and others 0.95, of invalidations 0.995"),
    ("Simulated misses of the first level, against cachegrind on the same accesses", "simulate-02-simulator", "misses of D1", ""),
    ("Copies that two simulated cores invalidate, against DynamoRIO's simulator on the same accesses", "simulate-02-simulator", "invalidations", ""),
    ("Invalidations, exact, against the workload's own count", "reuse-09-alternation", "exact, apart", ""),
]

COST = [
    ("`carom share --engine burst`, geometric mean of time", "share-06-overhead", "geometric mean of time", "ComDetective 1.30"),
    ("`carom share`, geometric mean of time", "translate-04-speed", "share 500K: geometric mean", "ComDetective 1.30, on AMD 5.02"),
    ("`carom count`, geometric mean of time", "translate-04-speed", "count: geometric mean",
     "QEMU, counting nothing, 3 to 36; Valgrind's lackey 73 to 164 (translate-09-peers)"),
    ("`carom reuse`, geometric mean of time", "reuse-05-overhead", "sampled: geometric mean of time", "ReuseTracker 2.1 to 2.9, RDX 2.03"),
    ("`carom profile`, times the dearest of its commands alone", "profile-01-findings", "time of the dearest", ""),
    ("`carom reuse --exact`, geometric mean of time", "reuse-05-overhead", "exact: geometric mean of time", "Loca 49, for private caches"),
    ("The exact analysis by itself: times as fast as DynamoRIO's", "reuse-03-throughput", "DynamoRIO", ""),
    ("`carom trace`: every access kept, median", "simulate-03-cost", "trace: median", ""),
    ("`carom trace --simulate`, median", "simulate-03-cost", "online: median", ""),
    ("`carom simulate`, accesses per second on one processor", "simulate-02-simulator", "at least 80 million", ""),
    ("Interpreters, one sample in 100,000 accesses", "translate-04-speed", "samples 100K: interpreters", ""),
    ("Added to `true`, by `carom count`", "translate-08-start", "count: true", ""),
    ("Added to `python3 -c pass`, by `carom count`", "translate-08-start", "count: python3", ""),
    ("74 programs of Debian print and end the same", "translate-03-transparency", "identical to native", ""),
    ("Tests of rr that print and end as natively", "translate-11-suites", "rr under count", ""),
    ("Modules of CPython's own tests that end as natively", "translate-11-suites", "cpython under count", ""),
    ("Stressors of stress-ng that end as natively", "translate-11-suites", "stress-ng under count", ""),
]
