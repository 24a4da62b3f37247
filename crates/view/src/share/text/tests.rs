use carom_study::share::{Check, NotEnough, Remedy as Advice, Simulated, Waiting};

use crate::{
    model::{CheckOutcome, EstimateBasis, Real, Remedy, RemedyKind},
    sample, share,
    text::{Options, render},
};

fn two(options: Options) -> String {
    let (run, findings) = sample::two();
    render(&share::report(&run, &findings), &options)
}

/// `text` has these lines one after the other.
#[track_caller]
fn check(text: &str, expect: &str) {
    let expect = expect.trim_matches('\n');
    assert!(text.contains(expect), "expected\n{expect}\nin\n{text}");
}

#[test]
fn volumes_of_accesses_are_labelled_as_estimates() {
    let (run, findings) = sample::every_nth();
    let text =
        render(&share::report(&run, &findings), &Options { width: 400, verbose: true, ..Options::default() });
    assert!(text.contains("in accesses, estimated"), "{text}");
    // (150 + 2,700 + 170 + 2,620 + 22 + 38) · 500,000 = 2.85e9, times 64 bytes 182e9; 9e8 · 64 = 57.6e9.
    let volume = "volume: 3.60 G accesses (±5%) to contended lines; 2.85 G accesses (±5%) that follow another thread's \
                  write, upper bound 182 GB; about 900 M line transfers (±5%) between cores, 57.6 GB (model)";
    assert!(text.contains(volume), "{text}");
    assert!(text.contains("samples   3,204 samples;"), "{text}");
}

#[test]
fn a_line_with_its_picture_sites_and_remedy() {
    check(
        &two(Options { verbose: true, ..Options::default() }),
        "
 1.  17% (±1.3)  96% false sharing  global stats  app.c:12
     line 0x4040c0, the object begins with it (16 bytes)
     0       8       16      24      32      40      48      56
     AAAAAAAABBBBBBBB················································
     A /*  0  8 */ stats.hits    written by worker-1, read by worker-1 and worker-2
     B /*  8  8 */ stats.misses  written and read only by worker-2
       8.8%  worker-1  rmw    0-7 stats.hits     count_hit  app.c:31
             ← work app.c:57 ← start_thread pthread_create.c:442
       7.1%  worker-2  rmw    8-15 stats.misses  count_miss  app.c:36
             ← work app.c:57 ← start_thread pthread_create.c:442
       0.6%  worker-2  load   0-7 stats.hits     progress  app.c:44
             ← work app.c:57 ← start_thread pthread_create.c:442
     remedy    Start `stats.misses` on its own cache line: `_Alignas(64)`.
     evidence  worker-1 writes bytes 0-7, which worker-1 and worker-2 read; worker-2 reads and
               writes bytes 8-15; 96% of the sharing seen is false
",
    );
}

/// That of the whole object: what one of its lines alone would have may not help.
#[test]
fn the_remedy_is_that_of_the_finding() {
    let (run, findings) = sample::two();
    let mut report = share::report(&run, &findings);
    report.share.as_mut().unwrap().findings[0].remedy.text = "Pass the objects by reference.".into();
    let text = render(&report, &Options::default());
    assert!(text.contains("remedy    Pass the objects by reference."), "{text}");
}

#[test]
fn call_paths_are_of_the_program_alone() {
    let (run, findings) = sample::two();
    let mut report = share::report(&run, &findings);
    for site in report.share.as_mut().unwrap().lines.iter_mut().flat_map(|line| &mut line.sites) {
        site.call_path.last_mut().unwrap().library = true;
    }
    let text = render(&report, &Options::default());
    assert!(text.contains("← work app.c:57") && !text.contains("start_thread"), "{text}");
}

/// worker-1 and worker-2 at two lines of the source; progress() makes a thirtieth of the samples.
#[test]
fn the_two_sites_that_tell_most_are_printed() {
    let text = two(Options::default());
    assert!(text.contains("count_hit  app.c:31") && text.contains("count_miss  app.c:36"), "{text}");
    assert!(!text.contains("progress  app.c:44") && !text.contains("evidence"), "{text}");
}

#[test]
fn the_matrix_is_symmetric_unless_asked() {
    // 1→2 is 150 true + 2,700 false, 2→1 170 + 2,620: together 5,640; 0→1 is 60 of which nothing comes back.
    check(
        &two(Options::default()),
        "
                  1     2     3
  1  app          · ░  60     ·
  2  worker-1 ░  60     · █5.6k
  3  worker-2     · █5.6k     ·
",
    );
    check(
        &two(Options { directed: true, ..Options::default() }),
        "
                  1     2     3
  1  app          · ░  60     ·
  2  worker-1     ·     · █2.9k
  3  worker-2     · █2.8k     ·
",
    );
}

#[test]
fn counts_are_exact_in_the_totals_and_short_in_the_tables() {
    let (run, findings) = sample::counted();
    let report = crate::count::report(&run, &findings);
    let text = render(&report, &Options { per_thread: true, verbose: true, ..Options::default() });
    check(
        &text,
        "
Counts
instructions                 1,230,000,123
loads                          411,500,000
stores                         189,600,000
",
    );
    check(&text, "branches taken                 not counted\n");
    // 100 columns less 18 for names are 8 cells of 10; ten events were counted.
    check(
        &text,
        "
By thread
                      instrs     loads    stores  B loaded  B stored  branches     calls   returns
app                   1.00 M     400 k     100 k        10        10        10        10        10
worker-1               480 M     159 M    74.4 M        20        20        20        20        20
worker-2               749 M     252 M     115 M        30        30        30        30        30
2 more events and exact numbers: --csv, --json
",
    );
    check(&text, "coverage  99.98% of the threads' CPU time; not observed: 2 × thread start");
    assert!(!text.contains("By process") && !text.contains("samples   "), "{text}");
    assert!(!render(&report, &Options::default()).contains("By thread"));
}

#[test]
fn what_is_never_observed_is_said() {
    let code =
        "not seen  code before main, but for initialisers that run after the agent was loaded; the kernel's";
    check(&two(Options { width: 120, verbose: true, ..Options::default() }), code);
}

#[test]
fn threads_that_run_the_same_code_share_a_row() {
    let (run, findings) = sample::eight();
    let text = render(&share::report(&run, &findings), &Options { width: 120, ..Options::default() });
    // Six of the sample's workers: 6 × 3.4% less 0.08% × (0 + 1 + … + 5), which is 19.2%.
    check(
        &text,
        "        19%  6 threads  rmw    6 ranges  <ingest::Tally as core::ops::AddAssign>::add_assign  tally.c:19",
    );
}

#[test]
fn many_threads_are_summed_up() {
    let (run, findings) = sample::crowd(100);
    let text = render(&share::report(&run, &findings), &Options::default());
    assert!(text.contains("rank-020 ↔ rank-021"), "{text}");
    assert!(text.contains("pattern: nearest neighbour"), "{text}");
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(
        words.join(" ").contains("; the recording was cut short: the program was killed by signal 9."),
        "{text}"
    );
}

#[test]
fn nothing_wider_than_asked() {
    for width in [80, 100, 140] {
        let (run, findings) = sample::eight();
        let text = render(&share::report(&run, &findings), &Options { width, ..Options::default() });
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width} columns: {line}");
        }
    }
}

#[test]
fn colours_only_where_asked_and_control_bytes_never() {
    let (mut run, mut findings) = sample::two();
    run.threads[1].name = "evil\x1b[2J\u{202e}\r\n\x07".into();
    run.program.argv.push("\x1b]0;title\x07".into());
    findings.lines[0].object.name = "a\x1bb".into();
    findings.lines[0].sites[0].call_path_names("f\u{9b}31m");
    let report = share::report(&run, &findings);
    let plain = render(&report, &Options::default());
    assert!(!plain.chars().any(|c| c != '\n' && (c.is_control() || c == '\u{202e}')), "{plain:?}");
    let coloured = render(&report, &Options { colour: true, ..Options::default() });
    let codes = coloured.split('\x1b').skip(1);
    for code in codes {
        let (parameters, _) = code.strip_prefix('[').and_then(|code| code.split_once('m')).expect("a colour");
        assert!(parameters.chars().all(|c| c.is_ascii_digit() || c == ';'), "{parameters:?}");
    }
}

trait Rename {
    fn call_path_names(&mut self, name: &str);
}

impl Rename for carom_study::share::Site {
    fn call_path_names(&mut self, name: &str) {
        for frame in &mut self.frames {
            frame.function = Some(name.into());
        }
    }
}

/// The text and the remedy of a report on a check with these transfers before and after.
fn checked(check: Check) -> (String, Remedy) {
    let (run, mut findings) = sample::two();
    findings.objects[0].check = Some(check);
    let report = share::report(&run, &findings);
    let share = report.share.as_ref().unwrap();
    assert_eq!(share.lines[0].remedy.text, share.findings[0].remedy.text);
    assert!(share.findings[1..].iter().all(|finding| finding.remedy.check.is_none()));
    (render(&report, &Options { width: 400, ..Options::default() }), share.findings[0].remedy.clone())
}

fn simulated(before: u64, after: u64, transfer_ns: Option<f64>) -> Check {
    let changes = vec!["pad:stats+8:64".into()];
    Check::Simulated(Simulated {
        changes,
        machine: "tiny".into(),
        accesses: 40_000,
        before,
        after,
        transfer_ns,
        waiting: None,
    })
}

#[test]
fn what_a_remedy_is_worth_is_told_as_modelled() {
    let (text, remedy) = checked(simulated(9_000, 12, Some(50.0)));
    check(
        &text,
        "
     remedy    Start `stats.misses` on its own cache line: `_Alignas(64)`.
     checked   With this change, the lines go from core to core 12 times instead of 9,000 in 40,000 accesses of another run \
         (model). At 50 ns for each, as measured here, that is worth 449 us.
",
    );
    let check = remedy.check.unwrap();
    let numbers = check.simulated.unwrap();
    assert_eq!((check.outcome, numbers.basis), (CheckOutcome::Supported, EstimateBasis::Modelled));
    assert_eq!((numbers.transfers_before, numbers.transfers_after), (9_000, 12));
    let (text, remedy) = checked(simulated(9_000, 12, None));
    assert!(text.contains("another run (model). What that is worth was not measured here."), "{text}");
    assert!(remedy.check.unwrap().simulated.unwrap().worth_s.is_none());
}

/// 449 us of 2 ms, and of 120 us, of which one of three threads waits for no other one.
#[test]
fn what_a_remedy_is_worth_is_a_part_of_the_time() {
    let waiting = |cpu_s| match simulated(9_000, 12, Some(50.0)) {
        Check::Simulated(found) => {
            let waiting = Some(Waiting { cpu_s, threads: 3 });
            checked(Check::Simulated(Simulated { waiting, ..found }))
        }
        other => panic!("{other:?}"),
    };
    let (text, remedy) = waiting(0.002);
    let part = "that is worth 449 us, of 2.0 ms of CPU time that as many accesses took when recorded.";
    assert!(text.contains(part), "{text}");
    let numbers = remedy.check.unwrap().simulated.unwrap();
    assert_eq!((numbers.worth_s, numbers.cpu_s), (Some(Real(0.0004494)), Some(Real(0.002))));
    let (text, remedy) = waiting(120e-6);
    let in_turn =
        "that is more than 3 threads lose that wait in turn: it is worth about 80 us, of 120 us of CPU";
    assert!(text.contains(in_turn), "{text}");
    assert!(remedy.check.unwrap().simulated.unwrap().worth_s.unwrap().0 < 81e-6);
}

#[test]
fn a_remedy_that_does_not_help_is_withdrawn() {
    let (text, remedy) = checked(simulated(9_000, 8_900, Some(50.0)));
    check(
        &text,
        "
     remedy    Withdrawn, because a simulation does not support it: with `pad:stats+8:64`, the lines would go from core to core \
         8,900 times instead of 9,000 in 40,000 accesses of another run (model).
",
    );
    assert!(!text.contains("checked ") && !text.contains("its own cache line"), "{text}");
    assert_eq!(remedy.at_line_offsets_bytes, [0; 0]);
    assert_eq!(remedy.check.unwrap().outcome, CheckOutcome::Withdrawn);
}

/// What else is to be done stays.
#[test]
fn only_the_layout_is_withdrawn() {
    let (run, mut findings) = sample::two();
    let Advice::Pad(padding) = findings.objects[0].remedy.clone() else { panic!("padding") };
    findings.objects[0].remedy = Advice::PadThenShareLess { padding, lock: None };
    findings.objects[0].check = Some(simulated(9_000, 9_000, None));
    let remedy = share::report(&run, &findings).share.unwrap().findings[0].remedy.clone();
    assert!(remedy.text.ends_with("(model). Some fields really are shared."), "{}", remedy.text);
}

/// A simulation needs no events: what it supports is offered after a few of them, unless it does not matter.
#[test]
fn few_events_withhold_what_no_simulation_supports() {
    let remedy = |check: Option<Check>, moving| {
        let (run, mut findings) = sample::two();
        findings.not_enough = Some(NotEnough { events: 12, run_seconds: None, moving });
        findings.objects[0].events = 12;
        findings.objects[0].check = check;
        let share = share::report(&run, &findings).share.unwrap();
        assert_eq!(share.lines[0].remedy.text, share.findings[0].remedy.text);
        let Remedy { kind, text, .. } = share.findings[0].remedy.clone();
        (kind, text)
    };
    let (kind, text) = remedy(Some(simulated(9_000, 12, None)), None);
    assert_eq!((kind, text.starts_with("Start `stats.misses`")), (RemedyKind::Pad, true), "{text}");
    for check in [None, Some(Check::Unchecked("it is too hot".into()))] {
        let (kind, text) = remedy(check, None);
        assert_eq!((kind, text.starts_with("Run longer first")), (RemedyKind::None, true), "{text}");
    }
    let (kind, text) = remedy(Some(simulated(9_000, 12, None)), Some(0.001));
    assert_eq!((kind, text.starts_with("Leave it")), (RemedyKind::None, true), "{text}");
}

#[test]
fn what_was_not_checked_says_why_and_stays() {
    let (text, remedy) = checked(Check::Unchecked("it is too hot".into()));
    assert!(
        text.contains("Start `stats.misses`")
            && text.contains("checked   Could not be checked: it is too hot.")
    );
    assert_eq!(remedy.check.unwrap().outcome, CheckOutcome::Unchecked);
    let (text, remedy) = checked(Check::NotOfLayout);
    assert!(text.contains("checked   Not checked: it is no change of a layout"), "{text}");
    assert_eq!(remedy.check.unwrap().outcome, CheckOutcome::NotOfLayout);
}
