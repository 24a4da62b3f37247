//! Every transition of every protocol in the simulator, derived by hand.
//!
//! Three cores of one set of one way, and no other cache, access one line. A row is an access, the states that it leads
//! to in cores 0, 1 and 2, and what it causes. `gives-up` loads another line, so that this one has to make room.

use carom_base::{AccessKind, Addr};
use carom_base_sim::{Counts, Input, Machine, Reference, Settings, Simulator, State};

/// The states of the watched line.
fn states(simulator: &Simulator) -> String {
    let histories = simulator.results().histories;
    let states = histories[0].changes.last().map(|change| change.states.clone());
    let states = states.unwrap_or_else(|| [State::Invalid; 3].into());
    states.iter().map(|state| state.letter().to_string()).collect::<Vec<_>>().join(" ")
}

/// What an access caused, in words.
fn events(before: Counts, after: Counts) -> Vec<String> {
    let count = |name: &str, of: fn(&Counts) -> u64| {
        let times = of(&after) - of(&before);
        (times > 0).then(|| if times == 1 { name.to_owned() } else { format!("{name}*{times}") })
    };
    let all = [
        count("cold", |counts| counts.l1.cold),
        count("replaced", |counts| counts.l1.capacity),
        count("coherence", |counts| counts.l1.coherence),
        count("from-core", |counts| counts.sources.core),
        count("upgrade", |counts| counts.upgrades),
        count("invalidates", |counts| counts.caused.total()),
        count("writes-back", |counts| counts.writebacks),
    ];
    all.into_iter().flatten().collect()
}

fn check(protocol: &str, rows: &str) {
    let text = format!("protocol = '{protocol}'\ncores_per_socket = 3\nl1 = {{size = 64, ways = 1}}");
    let mut simulator =
        Simulator::new(&Machine::parse(&text).expect("a machine"), Settings::default()).expect("a simulator");
    simulator.watch(Addr(0));
    let mut others = 1..;
    for row in rows.lines().map(str::trim).filter(|row| !row.is_empty()) {
        let words: Vec<&str> = row.split('#').next().expect("a row").split_whitespace().collect();
        let [core, access, expected @ ..] = &words[..] else { panic!("{row}") };
        let (kind, line) = match *access {
            "load" => (AccessKind::Load, 0),
            "store" => (AccessKind::Store, 0),
            "gives-up" => (AccessKind::Load, others.next().expect("a line")),
            _ => panic!("{row}"),
        };
        let before = simulator.results().total();
        simulator
            .accesses(core.parse().expect("a core"), &[Input::new(Addr(line * 64), 4, kind, Reference(0))]);
        let mut found: Vec<String> = states(&simulator).split(' ').map(str::to_owned).collect();
        found.extend(events(before, simulator.results().total()));
        assert_eq!(found, expected, "{protocol}: {row}");
    }
}

#[test]
fn msi() {
    check(
        "MSI",
        "
        0 load      S I I  cold
        0 load      S I I
        0 store     M I I  upgrade                                  # S to M, though nobody else has it
        0 store     M I I
        0 load      M I I
        1 load      S S I  cold from-core writes-back               # M to S
        2 load      S S S  cold from-core                           # without an owner the others do not change
        1 store     I M I  upgrade invalidates*2                    # S to I
        2 store     I I M  coherence from-core invalidates writes-back   # M to I
        2 gives-up  I I I  cold writes-back
        2 store     I I M  replaced                                 # I to M
        0 load      S I S  coherence from-core writes-back
        0 gives-up  I I S  cold                                     # clean
        ",
    );
}

#[test]
fn mesi() {
    check(
        "MESI",
        "
        0 load      E I I  cold
        0 load      E I I
        0 store     M I I                                           # E to M without a word
        0 load      M I I
        0 store     M I I
        1 load      S S I  cold from-core writes-back               # M to S
        1 load      S S I
        0 store     M I I  upgrade invalidates                      # S to M and S to I
        1 store     I M I  coherence from-core invalidates writes-back   # M to I
        1 gives-up  I I I  cold writes-back
        1 load      I E I  replaced
        2 load      I S S  cold from-core                           # E to S
        2 gives-up  I S I  cold
        1 gives-up  I I I  cold
        0 load      E I I  coherence
        1 store     I M I  replaced from-core invalidates           # E to I
        1 gives-up  I I I  cold writes-back
        0 load      E I I  coherence
        0 gives-up  I I I  cold                                     # E is clean
        0 store     M I I  replaced                                 # I to M
        ",
    );
}

#[test]
fn mesif() {
    check(
        "MESIF",
        "
        0 load      E I I  cold
        1 load      S F I  cold from-core                           # E to S, and the newest forwards
        2 load      S S F  cold from-core                           # F to S
        2 load      S S F
        2 gives-up  S S I  cold                                     # nobody forwards
        2 load      S S F  replaced from-core
        2 store     I I M  upgrade invalidates*2                    # F to M, S to I
        2 store     I I M
        0 load      F I S  coherence from-core writes-back          # M to S
        1 store     I M I  coherence from-core invalidates*2        # F to I, S to I
        0 store     M I I  coherence from-core invalidates writes-back   # M to I
        0 load      M I I
        0 gives-up  I I I  cold writes-back
        0 load      E I I  replaced
        0 store     M I I                                           # E to M
        1 load      S F I  coherence from-core writes-back
        0 store     M I I  upgrade invalidates                      # S to M, F to I
        0 gives-up  I I I  cold writes-back
        1 load      I E I  coherence
        0 store     M I I  replaced from-core invalidates           # E to I
        ",
    );
}

#[test]
fn moesi() {
    check(
        "MOESI",
        "
        0 load      E I I  cold
        0 store     M I I                                           # E to M
        1 load      O S I  cold from-core                           # M to O, memory stays old
        2 load      O S S  cold from-core                           # O to O
        0 load      O S S
        0 store     M I I  upgrade invalidates*2                    # O to M, S to I
        1 load      O S I  coherence from-core
        1 store     I M I  upgrade invalidates                      # S to M, O to I without a write-back
        0 store     M I I  coherence from-core invalidates          # M to I without a write-back
        1 load      O S I  coherence from-core
        0 gives-up  I S I  cold writes-back                         # O is dirty
        0 load      S S I  replaced from-core
        2 store     I I M  coherence from-core invalidates*2
        2 gives-up  I I I  cold writes-back
        2 load      I I E  replaced
        1 load      I S S  coherence from-core                      # E to S
        2 gives-up  I S I  cold
        1 gives-up  I I I  cold
        1 load      I E I  replaced
        0 store     M I I  coherence from-core invalidates          # E to I
        1 load      O S I  coherence from-core
        2 store     I I M  replaced from-core invalidates*2         # O to I on a store of one that lacks it
        ",
    );
}
