//! Two and eight threads.

use super::*;
use carom_study::share::{Padding, Parts, Pattern, ThreadPair};

/// Two workers, two counters in one global struct: the textbook case of false sharing.
pub fn two() -> (RunInfo, ShareFindings) {
    let names = ["app", "worker-1", "worker-2"].map(String::from);
    let mut run = run(&["./app", "--threads", "2"], &names);
    run.warnings.push(Warning {
        code: "interrupted-calls".into(),
        text: "2 system calls of the program failed with EINTR because of carom's timer.".into(),
    });
    let mut findings = nothing(3);
    findings.not_enough = None;
    findings.quality.events = 1_412;
    findings.quality.losses.counters.traps = 655;
    findings.false_fraction = Some(estimate(0.94, 0.021));
    findings.contended_share = estimate(0.18, 0.02);
    findings.kinds = Kinds { read_after_write: 220.0, write_after_write: 5_480.0 };
    findings.distance = Distance { cross_core: 5_510.0, smt_siblings: 150.0, same_cpu: 40.0 };
    flow(&mut findings.threads, 1, 2, 150.0, 2_700.0);
    flow(&mut findings.threads, 2, 1, 170.0, 2_620.0);
    flow(&mut findings.threads, 0, 1, 22.0, 38.0);
    flow(&mut findings.cpus, 0, 1, 160.0, 2_690.0);
    flow(&mut findings.cpus, 1, 0, 182.0, 2_668.0);
    findings.last_writer = findings.threads.clone();
    findings.lines = vec![stats(), flag()];
    find_each(&mut findings);
    (run, findings)
}

fn stats() -> LineFinding {
    let remedy = Remedy::Pad(Padding {
        at_line_offsets: vec![8],
        fields: vec!["stats.hits".into(), "stats.misses".into()],
        of: Parts::Fields,
    });
    let mut line = line(
        0x4040c0,
        estimate(0.165, 0.013),
        (200.0, 5_100.0),
        global("stats", 0, 16, "/src/app.c", 12),
        remedy,
    );
    let path = |function, at| {
        vec![
            frame(function, "/src/app.c", at),
            frame("work", "/src/app.c", 57),
            frame("start_thread", "pthread_create.c", 442),
        ]
    };
    let mut inlined = path("count_hit", 31);
    inlined[0].inlined = true;
    line.sites = vec![
        site(1, AccessKind::ReadModifyWrite, (0, 8), "stats.hits", inlined, 0.088),
        site(2, AccessKind::ReadModifyWrite, (8, 8), "stats.misses", path("count_miss", 36), 0.071),
        site(2, AccessKind::Load, (0, 8), "stats.hits", path("progress", 44), 0.006),
    ];
    line.layout = vec![range((0, 8), "stats.hits", &[1, 2], &[1]), range((8, 8), "stats.misses", &[2], &[2])];
    line
}

fn flag() -> LineFinding {
    let remedy = Remedy::ShareLess { offset: 0, width: 4, handed: None, elements: false };
    let mut line =
        line(0x404100, estimate(0.015, 0.006), (142.0, 0.0), global("stop", 0, 4, "/src/app.c", 14), remedy);
    line.sites = vec![
        site(1, AccessKind::Load, (0, 4), "stop", vec![frame("work", "/src/app.c", 55)], 0.009),
        site(0, AccessKind::Store, (0, 4), "stop", vec![frame("main", "/src/app.c", 90)], 0.006),
    ];
    line.layout = vec![range((0, 4), "stop", &[1, 2], &[0])];
    line
}

/// Eight workers: per-thread counters packed in a heap block, a queue whose head all exchange, and a line of both.
pub fn eight() -> (RunInfo, ShareFindings) {
    let names: Vec<String> =
        std::iter::once("ingest".into()).chain((1..=8).map(|id| format!("worker-{id}"))).collect();
    let run = run(&["ingest", "--workers=8", "logs.ndjson"], &names);
    let mut findings = nothing(9);
    findings.not_enough = None;
    findings.quality.events = 4_904;
    findings.quality.losses.counters.traps = 2_100;
    findings.quality.last_instruction = 24_410;
    findings.quality.step = 24_390;
    findings.quality.losses.counters.dropped_records = 12;
    findings.false_fraction = Some(estimate(0.61, 0.034));
    findings.contended_share = estimate(0.342, 0.018);
    findings.kinds = Kinds { read_after_write: 4_120.0, write_after_write: 7_700.0 };
    findings.distance = Distance { cross_core: 9_900.0, smt_siblings: 1_700.0, same_cpu: 220.0 };
    findings.pattern = Some(Pattern::MasterWorker { master: ThreadId(0) });
    for worker in 1..9 {
        flow(&mut findings.threads, 0, worker, 420.0 + worker as f64 * 9.0, 60.0);
        flow(&mut findings.threads, worker, 0, 260.0, 30.0);
        for other in 1..9 {
            if worker != other {
                let near = 1.0 / (worker as f64 - other as f64).abs();
                flow(&mut findings.threads, worker, other, 14.0, 240.0 * near);
                flow(&mut findings.cpus, worker - 1, other - 1, 80.0, 190.0 * near);
            }
        }
    }
    findings.last_writer = findings.threads.clone();
    findings.lines = vec![counters(), queue(), mixed()];
    find_each(&mut findings);
    findings.other_lines = 17;
    (run, findings)
}

fn counters() -> LineFinding {
    let object = DataObject {
        kind: ObjectKind::Heap,
        name: "calloc(64) in make_pool".into(),
        offset: -16,
        size: Some(64),
        declared: Some(frame("make_pool", "src/pool.c", 88)),
        allocation: vec![frame("make_pool", "src/pool.c", 88), frame("main", "src/main.c", 31)],
    };
    let remedy = Remedy::Pad(Padding {
        at_line_offsets: (1..6).map(|slot| 16 + slot * 8).collect(),
        fields: Vec::new(),
        of: Parts::Fields,
    });
    let mut line = line(0x7f3a_1c00_12c0, estimate(0.19, 0.014), (0.0, 7_210.0), object, remedy);
    for worker in 0..6_u32 {
        let path = vec![
            frame("<ingest::Tally as core::ops::AddAssign>::add_assign", "src/tally.c", 19),
            frame("drain", "src/worker.c", 140),
            frame("worker_main", "src/worker.c", 61),
        ];
        line.sites.push(site(
            worker + 1,
            AccessKind::ReadModifyWrite,
            (16 + worker * 8, 8),
            "",
            path,
            0.034 - f64::from(worker) * 0.0008,
        ));
        line.layout.push(range((16 + worker * 8, 8), "", &[worker + 1], &[worker + 1]));
    }
    line
}

fn queue() -> LineFinding {
    let remedy = Remedy::ShareLess { offset: 0, width: 8, handed: None, elements: false };
    let mut line = line(
        0x5581_0000_4a40,
        estimate(0.112, 0.01),
        (4_150.0, 0.0),
        global("queue", 0, 64, "src/queue.c", 9),
        remedy,
    );
    let workers: Vec<u32> = (1..=8).collect();
    let everyone: Vec<u32> = (0..=8).collect();
    for &worker in &workers {
        let path = vec![frame("queue_pop", "src/queue.c", 47), frame("worker_main", "src/worker.c", 58)];
        line.sites.push(site(worker, AccessKind::ReadModifyWrite, (0, 8), "queue.head", path, 0.0125));
    }
    line.sites.push(site(
        0,
        AccessKind::Store,
        (8, 8),
        "queue.tail",
        vec![frame("queue_push", "src/queue.c", 31)],
        0.011,
    ));
    line.layout =
        vec![range((0, 8), "queue.head", &everyone, &workers), range((8, 8), "queue.tail", &workers, &[0])];
    line
}

fn mixed() -> LineFinding {
    let remedy = Remedy::PadThenShareLess {
        padding: Padding { at_line_offsets: vec![32], fields: Vec::new(), of: Parts::Fields },
        lock: None,
    };
    let object = DataObject {
        kind: ObjectKind::Stack,
        name: "stack of ingest".into(),
        offset: 8_128,
        size: None,
        declared: None,
        allocation: Vec::new(),
    };
    let mut line = line(0x7ffd_e1a0_9f80, estimate(0.04, 0.007), (260.0, 210.0), object, remedy);
    line.pair = Some(ThreadPair { first: ThreadId(3), second: ThreadId(4), fraction: 0.97 });
    line.false_fraction = None;
    line.events = 21;
    line.sites = vec![
        site(3, AccessKind::Store, (0, 16), "", vec![frame("merge", "src/merge.c", 12)], 0.021),
        site(4, AccessKind::Load, (32, 4), "", Vec::new(), 0.019),
    ];
    line.layout = vec![range((0, 16), "", &[4], &[3]), range((32, 4), "", &[4], &[3, 4])];
    line
}
