//! From events to counts: with a fake kernel that has a PMU of few counters, and with this one.

use std::{
    collections::BTreeMap,
    io::{PipeWriter, Write, pipe},
    os::fd::IntoRawFd,
    process::Command,
};

use super::Tree;
use crate::{
    child,
    door::{Call, with_fake},
    host::{
        machine::Root,
        pmu::{PmuCounters, PmuError, PmuEvent, PmuReading, catalogue, event, groups},
    },
};

/// A kernel with a PMU of `counters` counters, of which it knows, and `lent` of them, of which it does not know when it
/// opens a group. Event 0xb7 fits only once. Event 0xff does not exist.
fn kernel(counters: usize, lent: usize) -> impl FnMut(&mut Call<'_>) -> Option<Result<i64, i32>> {
    let mut opened: BTreeMap<i32, (PipeWriter, i32)> = BTreeMap::new();
    let mut groups: BTreeMap<i32, Vec<u64>> = BTreeMap::new();
    move |call| {
        Some(match call {
            Call::Open { attr, group, .. } => {
                let event = attr.config & 0xff;
                let mut events = groups.get(group).cloned().unwrap_or_default();
                events.push(event);
                let twice = events.iter().filter(|known| **known == 0xb7).count() > 1;
                if event == 0xff {
                    return Some(Err(libc::ENOENT));
                }
                if events.len() > counters || twice {
                    return Some(Err(libc::EINVAL));
                }
                let (reader, writer) = pipe().expect("a pipe");
                let fd = reader.into_raw_fd();
                let first = if *group < 0 { fd } else { *group };
                groups.insert(first, events);
                opened.insert(fd, (writer, first));
                Ok(i64::from(fd))
            }
            Call::Ioctl { fd, .. } => {
                let (writer, first) = opened.get_mut(fd).expect("an open event");
                let runs = groups.get(first).is_some_and(|events| events.len() + lent <= counters);
                let words = [7, 100, if runs { 100 } else { 0_u64 }];
                words.iter().for_each(|word| writer.write_all(&word.to_ne_bytes()).expect("room"));
                Ok(0)
            }
            Call::Reach => Err(libc::EFAULT),
        })
    }
}

fn events(numbers: &[u64]) -> Vec<PmuEvent> {
    let tree = Tree::new();
    let name = |number: &u64| format!("cpu/event={number:#x}/");
    numbers.iter().map(|number| event(&tree.root(), &name(number)).expect("an event")).collect()
}

fn sizes(numbers: &[u64], counters: usize, lent: usize) -> Vec<usize> {
    let found = with_fake(kernel(counters, lent), || groups(events(numbers)));
    found.expect("each is counted alone").iter().map(Vec::len).collect()
}

#[test]
fn groups_fit_the_counters() {
    let ten: Vec<u64> = (1..=10).collect();
    assert_eq!(sizes(&ten, 4, 0), [4, 4, 2]);
    assert_eq!(sizes(&ten, 16, 0), [10]);
    // The watchdog holds one, which shows only when the group is to count.
    assert_eq!(sizes(&ten, 4, 1), [3, 3, 3, 1]);
    // Two that need the same counter; what follows fills the first group up.
    assert_eq!(sizes(&[0xb7, 0xb7, 1, 2, 3], 4, 0), [4, 1]);
    assert_eq!(sizes(&[], 4, 0), [0; 0]);
}

#[test]
fn an_event_that_is_not_counted_alone_is_refused() {
    let text = |numbers: &[u64], lent| {
        with_fake(kernel(4, lent), || groups(events(numbers))).unwrap_err().to_string()
    };
    let gone = text(&[1, 0xff], 0);
    assert!(gone.starts_with("cpu/event=0xff/ is not counted, since perf_event_open"), "{gone}");
    assert!(text(&[1], 4).contains("nmi_watchdog"));
    let denied = |name: &str| {
        let tree = Tree::new();
        let event = event(&tree.root(), name).expect("an event");
        with_fake(|_| Some(Err(libc::EACCES)), || groups(vec![event])).unwrap_err().to_string()
    };
    assert!(denied("cpu/instructions/").contains("count user mode alone"));
    assert!(denied("power/energy-pkg/").contains("it counts the whole machine"));
}

/// Boxes and processors add up; what the machine did before the program began does not count.
#[test]
fn counts_of_the_machine_are_differences_and_sums() {
    let tree = Tree::new();
    let reads = event(&tree.root(), "uncore_imc/cas_count_read/").expect("an event");
    let readings = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let opened = readings.clone();
    let kernel = move |call: &mut Call<'_>| match call {
        Call::Open { attr, thread, cpu, group } => {
            let (reader, mut writer) = pipe().ok()?;
            // At the beginning, and 100 more for each opened before it.
            let number = opened.borrow().len() as u64;
            for words in [[1000, 50, 50], [1001 + 100 * number, 60, 60]] {
                words.iter().for_each(|word: &u64| writer.write_all(&word.to_ne_bytes()).expect("room"));
            }
            opened.borrow_mut().push((attr.type_, *thread, *cpu, *group, attr.disabled(), attr.inherit()));
            Some(Ok(i64::from(reader.into_raw_fd())))
        }
        _ => Some(Err(libc::EBADF)),
    };
    let found = with_fake(kernel, || {
        let mut counters = PmuCounters::group(std::slice::from_ref(&reads)).expect("open");
        counters.begin();
        counters.read()
    });
    // Each box on both sockets, at once, in no thread.
    let expected = [(12, -1, 0), (12, -1, 28), (13, -1, 0), (13, -1, 28)];
    let asked: Vec<_> = readings.borrow().iter().map(|each| (each.0, each.1, each.2)).collect();
    assert_eq!(asked, expected);
    assert!(readings.borrow().iter().all(|each| (each.3, each.4, each.5) == (-1, 0, 0)));
    assert_eq!(found, [(reads, PmuReading { count: 1 + 101 + 201 + 301, enabled_ns: 40, running_ns: 40 })]);
}

#[test]
fn a_catalogue_has_what_the_kernel_counts() {
    let tree = Tree::new();
    let found = with_fake(kernel(4, 0), || catalogue(&tree.root()));
    let names: Vec<&str> = found.events.iter().map(|event| event.name.as_str()).collect();
    // Boxes of an uncore are one. An event that leaves a field to the user is none.
    let expected = [
        "armv8_pmuv3_0/bus_access/",
        "cpu/cache-misses/",
        "cpu/instructions/",
        "cpu/mem-loads/",
        "power/energy-pkg/",
        "uncore_imc/cas_count_read/",
    ];
    assert_eq!(names[..6], expected, "{names:?}");
    assert!(
        found.refused.iter().any(|error| matches!(error, PmuError::Value { term, .. } if term == "core"))
    );
    // Where the kernel's part may not be counted.
    let denying = |call: &mut Call<'_>| match call {
        Call::Open { attr, .. } if attr.exclude_kernel() == 0 => Some(Err(libc::EACCES)),
        _ => None,
    };
    let mut real = kernel(4, 0);
    let found = with_fake(move |call| denying(call).or_else(|| real(call)), || catalogue(&tree.root()));
    assert_eq!(found.events[1].name, "cpu/cache-misses/u");
}

/// With this kernel: page faults as getrusage has them, and the time-stamp counter as fast as it is.
#[test]
fn a_child_is_counted_with_its_children() {
    let wanted = ["perf::PAGE-FAULTS", "msr/tsc/"];
    let events: Vec<PmuEvent> = wanted.iter().filter_map(|name| event(&Root::system(), name).ok()).collect();
    let mut counters = match PmuCounters::group(&events) {
        Ok(counters) if !events.is_empty() => counters,
        Ok(_) => return println!("skipped: tool: neither libpfm nor the PMU msr"),
        Err(error) => return println!("skipped: perf-events: {error}"),
    };
    counters.begin();
    let program = "head -c 33554432 /dev/zero | tail -c 33554432 >/dev/null";
    let (_, usage) =
        child::wait(Command::new("sh").args(["-c", program]).spawn().expect("a shell")).expect("waited");
    let all = usage.minor_faults + usage.major_faults;
    for (event, found) in counters.read() {
        assert!(found.enabled_ns > 0 && found.running_ns == found.enabled_ns, "{}: {found:?}", event.name);
        if event.name == "msr/tsc/" {
            // Between 0.1 and 10 GHz.
            assert!((0.1..10.0).contains(&(found.count as f64 / found.running_ns as f64)), "{found:?}");
        } else {
            // Before it is executed the child faults in some pages, too.
            assert!(all > 200 && found.count <= all && found.count + 150 > all, "{found:?} {all}");
        }
    }
}
