//! Programs that everybody has, on generated input: the output is the same in every run.

use std::{fs, path::Path, process::Command};

use crate::support::{DENSE, Share, compare, run, scratch};

const RUNS: usize = 3;

/// Compressible but not trivial: words out of a linear congruential generator (Knuth's MMIX constants).
fn text(bytes: usize) -> Vec<u8> {
    let mut state = 1u64;
    let mut out = Vec::with_capacity(bytes + 16);
    while out.len() < bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        out.extend_from_slice(format!("word{} ", (state >> 33) % 5000).as_bytes());
    }
    out.truncate(bytes);
    out
}

/// Several runs of a program that must be on PATH, each the same as alone.
fn same_runs(program: &str, arguments: &[&str]) {
    let found = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(program).is_file()));
    if !found {
        eprintln!("skipped: tool: {program} is not installed");
        return;
    }
    let alone = run(Command::new(program).args(arguments));
    assert_eq!(alone.code(), Some(0), "{program}: {}", alone.complaint());
    for _ in 0..RUNS {
        let mut share = Share::new(&DENSE, Path::new(program), arguments);
        let shared = share.run();
        compare(&share.command, &alone, &shared);
        assert!(share.report().samples() > 0, "{program}");
    }
}

#[test]
fn compressors() {
    let place = scratch();
    let input = place.path().join("input");
    fs::write(&input, text(6 << 20)).expect("input");
    let input = input.to_str().expect("UTF-8");
    // Blocks of 1 MiB, so that there is work for two threads.
    same_runs("xz", &["-T2", "-0", "--block-size=1MiB", "-c", input]);
    same_runs("zstd", &["-T2", "-6", "-q", "-c", input]);
    // Without name and time of the file.
    same_runs("pigz", &["-p2", "-n", "-c", input]);
}

#[test]
fn interpreters_and_databases() {
    let program = "import threading, hashlib, subprocess
def work(n, out):
    h = hashlib.sha256()
    for i in range(20000):
        h.update(str(i * n).encode())
        out[n] = sum(x * x for x in range(20))
    out[n] = h.hexdigest()
out = {}
threads = [threading.Thread(target=work, args=(n, out)) for n in range(3)]
[t.start() for t in threads]; [t.join() for t in threads]
print(sorted(out.items()))
print(subprocess.run(['/bin/sh', '-c', 'echo child; exit 3'], capture_output=True))
";
    same_runs("python3", &["-c", program]);
    let sql = "create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000)
insert into t select i, hex(i * 7919 % 60013) from n;
create index u on t(b);
select count(*), sum(length(b)) from t; select * from t where b > '36' order by b limit 5;";
    same_runs("sqlite3", &[":memory:", sql]);
}
