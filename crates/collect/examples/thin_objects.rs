//! thin
fn main() {
    let argv: Vec<String> = std::env::args().skip(1).collect();
    let settings = carom_base_wire::ControlSettings {
        period_ns: 1_000_000,
        budget_ppm: 50_000,
        max_steps: 64,
        watchpoints: 4,
        board_slots: 127,
        delivery: carom_base_wire::DeliveryChoice::Auto,
        objects: std::env::var("OBJECTS").ok().and_then(|v| v.parse().ok()),
    };
    let r = carom_collect::record(&carom_collect::Request {
        command: "share".into(),
        argv,
        dir: None,
        settings,
        reason: "x".into(),
    });
    let o = match r {
        Ok(o) => o,
        Err(e) => {
            eprintln!("{e}");
            std::process::exit(125)
        }
    };
    eprintln!("{:?}", o);
    let rec = carom_store::Recording::open(&o.dir).unwrap();
    for t in &rec.manifest().threads {
        eprintln!("{} {} cpu {} {:?}", t.id.0, t.name, t.cpu_ns / 1000000, t.counters);
    }
    eprintln!("{:?} {:?}", rec.manifest().engine, rec.manifest().warnings);
    let (mut a, mut b) = (std::collections::BTreeMap::new(), std::collections::BTreeMap::new());
    for s in rec.samples() {
        let s = s.unwrap();
        let k = match s.outcome {
            carom_base::SampleOutcome::Access(_) => "access".to_string(),
            carom_base::SampleOutcome::Skipped(_, s) => format!("{s:?}"),
        };
        *if s.population as u8 == 0 { &mut a } else { &mut b }.entry(k).or_insert(0) += 1;
    }
    eprintln!("last {a:?}\nstep {b:?}");
    let mut e = std::collections::BTreeMap::new();
    for s in rec.events() {
        let s = s.unwrap();
        *e.entry((s.population, s.via, s.class, s.exact, s.later.kind)).or_insert(0) += 1;
    }
    for x in e {
        eprintln!("{x:?}");
    }
    for v in carom_store::check(&o.dir).unwrap().iter().take(10) {
        eprintln!("violation {v:?}");
    }
}
