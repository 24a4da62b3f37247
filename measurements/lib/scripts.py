"""What the interpreters among the measured programs run. All print a checksum that depends on nothing else."""

# Rows by a generator, two indexes sorted by worker threads, and checksums. xorshift instead of random().
SQL = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA threads = 2;
PRAGMA cache_size = -65536;
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b TEXT);
WITH RECURSIVE n (i, x) AS (
  SELECT 1, 88172645463325252
  UNION ALL SELECT i + 1, (x * 1103515245 + 12345) & 4294967295 FROM n WHERE i < {rows})
INSERT INTO t SELECT i, x, printf('%08x-%d', x * 2654435761 & 4294967295, i % 97) FROM n;
CREATE INDEX by_a ON t (a);
CREATE INDEX by_b ON t (b, a);
SELECT count(*), sum(a), min(b), max(b) FROM t;
SELECT sum(id * (a & 255)) FROM t INDEXED BY by_a WHERE a > 1000000000;
SELECT b FROM t ORDER BY b LIMIT 5;
"""

# Pure Python in two processes, and two threads that hand each other the interpreter's lock.
PYTHON = """
import hashlib, multiprocessing, threading

def sieve(limit):
    flags = bytearray([1]) * (limit + 1)
    for n in range(2, int(limit ** 0.5) + 1):
        if flags[n]:
            flags[n * n::n] = bytes(len(range(n * n, limit + 1, n)))
    return sum(n for n in range(2, limit + 1) if flags[n])

def words(seed):
    table, x = {}, seed
    for _ in range(SIZE):
        x = (x * 1103515245 + 12345) & 0x7fffffff
        key = f"k{x % 5003}"
        table[key] = table.get(key, 0) + (x >> 7)
    return hashlib.sha256(repr(sorted(table.items())).encode()).hexdigest()

class Queens(threading.Thread):
    def run(self):
        self.found = self.place(8, 0, 0, 0, 0)
    def place(self, n, row, columns, up, down):
        if row == n:
            return 1
        return sum(self.place(n, row + 1, columns | 1 << c, up | 1 << row + c, down | 1 << row - c + n)
                   for c in range(n) if not (columns >> c & 1 or up >> row + c & 1 or down >> row - c + n & 1))

if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(sieve, [SIZE * 2, SIZE * 2 + 1]), pool.map(words, [1, 2, 3, 4]))
    threads = [Queens() for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sum(thread.found for thread in threads))
"""

# JavaScript, compiled at run time by V8, in two worker threads that also meet in a SharedArrayBuffer.
NODE = """
const { Worker, isMainThread, workerData } = require('node:worker_threads');
const SIZE = %(size)s;
if (isMainThread) {
  const shared = new Int32Array(new SharedArrayBuffer(4096));
  const workers = [1, 2].map((seed) => new Worker(__filename, { workerData: { seed, shared } }));
  Promise.all(workers.map((w) => new Promise((done) => w.on('exit', done)))).then(() => {
    let sum = 0;
    for (const value of shared) sum = (sum * 31 + value) | 0;
    console.log(sum);
  });
} else {
  const { seed, shared } = workerData;
  const table = new Map();
  let x = seed;
  for (let i = 0; i < SIZE; i++) {
    x = (Math.imul(x, 1103515245) + 12345) & 0x7fffffff;
    const key = 'k' + (x %% 4999);
    table.set(key, ((table.get(key) || 0) + (x >> 5)) | 0);
    if ((i & 63) === 0) Atomics.add(shared, x & 1023, x >> 9);
  }
  for (const [key, value] of table) Atomics.add(shared, key.length, value);
}
"""
