"""Six programs of Debian, on inputs small enough for every access to be looked at, simulated and written down."""

from lib import inputs
from lib.programs import Program

# Rows with an index; in memory, so that nothing is left of the run before.
SQL = """
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b TEXT);
WITH RECURSIVE n (i, x) AS (
  SELECT 1, 88172645463325252
  UNION ALL SELECT i + 1, (x * 1103515245 + 12345) & 4294967295 FROM n WHERE i < {rows})
INSERT INTO t SELECT i, x, printf('%08x', x * 2654435761 & 4294967295) FROM n;
CREATE INDEX by_a ON t (a);
SELECT count(*), sum(length(b)) FROM t INDEXED BY by_a WHERE a > 1000000000;
"""

# A dictionary that grows, and numbers that are sorted.
PYTHON = """
table, x = {}, 1
for _ in range(SIZE):
    x = (x * 1103515245 + 12345) & 0x7fffffff
    table[x % 20011] = table.get(x % 20011, 0) + (x >> 7)
print(len(table), sum(sorted(table.values())[::97]))
"""


def programs(quick):
    part = 8 if quick else 1
    sql = inputs.script("curves.sql", SQL.format(rows=24_000 // part))
    python = inputs.script("curves.py", PYTHON.replace("SIZE", str(120_000 // part)))
    small, large = inputs.text(1), inputs.text(2)
    return [
        Program("zstd", ["zstd", "-q", "-f", "-T2", "-B512KiB", "-3", small if quick else large, "-o", "out.zst"]),
        Program("gzip", ["gzip", "-c", "-1" if quick else "-6", small]),
        Program("xz", ["xz", "-T1", "-0" if quick else "-1", "-k", "-c", small]),
        Program("sqlite3", ["sqlite3", "-bail", ":memory:", f".read {sql}"]),
        Program("sort", ["sort", "--parallel=2", "-S", "64M", "-o", "sorted", inputs.numbers(60_000 // part)],
                env={"LC_ALL": "C"}),
        Program("python3", ["/usr/bin/python3", "-S", python], env={"PYTHONHASHSEED": "0"}),
    ]
