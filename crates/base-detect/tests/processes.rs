//! Threads of two processes meet on the board for the memory that they share, and nowhere else.

use carom_base::{
    Access, AccessKind, Addr, Cpu, Ip, Line, Nanos, Population, SegmentId, SharingClass, StackId, ThreadId,
};
use carom_base_detect::{Board, Config, Entry, Input, Publisher, Slot, ThreadDetector, Watch};

fn shared(offset: u64) -> u64 {
    Addr::shared(SegmentId(2), offset).expect("a segment and an offset that fit").0
}

fn input(time: u64, addr: u64, kind: AccessKind) -> Input {
    Input {
        access: Access { ip: Ip(1), addr: Addr(addr), width: 8, kind },
        time: Nanos(time),
        cpu: Cpu(0),
        stack: StackId(9),
        population: Population::Step,
        weight: 1.0,
        watch: Some(1.0),
    }
}

/// The boards of two processes, and the one that both use.
#[derive(Default)]
struct Boards {
    slots: [[Slot; 7]; 3],
    publishers: [[Publisher; 4]; 3],
    threads: [std::sync::atomic::AtomicU32; 3],
}

impl Boards {
    fn board(&self, number: usize) -> Board<'_> {
        Board::new(&self.slots[number], &self.publishers[number], &self.threads[number])
    }
}

fn thread(id: u32, among_processes: u32) -> ThreadDetector {
    let config = Config { watch: Watch::Line, ..Config::default() };
    let mut thread = ThreadDetector::new(ThreadId(id), config, 1);
    thread.number_among_processes(among_processes);
    thread
}

const EVERYTHING: fn(Line) -> bool = |_| true;

/// Both threads are the first of their process.
#[test]
fn equal_numbers_in_two_processes_are_two_threads() {
    let boards = Boards::default();
    let common = boards.board(2);
    let [one, other] = [0, 1].map(|number| boards.board(number).with_common(&common, EVERYTHING));
    let (mut writer, mut reader) = (thread(0, 7), thread(0, 3));
    assert!(writer.on_sample(&one, input(10, shared(64), AccessKind::Store)).published);
    let event =
        reader.on_sample(&other, input(20, shared(72), AccessKind::Load)).event.expect("the same line");
    assert_eq!((event.class, event.thread), (SharingClass::False, ThreadId(0)));
    assert_eq!(event.earlier.thread, ThreadId::among_processes(7));
    // A thread's own entries are not news to it.
    assert_eq!(writer.on_sample(&one, input(30, shared(64), AccessKind::Store)).event, None);
    assert_eq!(writer.on_sample(&one, input(40, shared(64), AccessKind::Store)).event, None);
}

#[test]
fn memory_of_a_process_stays_on_its_own_board() {
    let boards = Boards::default();
    let common = boards.board(2);
    let [one, other] = [0, 1].map(|number| boards.board(number).with_common(&common, EVERYTHING));
    let (mut writer, mut reader) = (thread(0, 7), thread(0, 3));
    assert!(writer.on_sample(&one, input(10, 64, AccessKind::Store)).published);
    let decision = reader.on_sample(&other, input(20, 72, AccessKind::Load));
    assert_eq!((decision.event, decision.arm), (None, None));
    assert_eq!((one.entries().count(), other.entries().count(), common.entries().count()), (1, 0, 0));
}

#[test]
fn a_line_that_another_process_wrote_is_watched() {
    let boards = Boards::default();
    let common = boards.board(2);
    let [one, other] = [0, 1].map(|number| boards.board(number).with_common(&common, EVERYTHING));
    let (mut writer, mut reader) = (thread(0, 7), thread(0, 3));
    writer.on_sample(&one, input(10, shared(64), AccessKind::Store));
    let plan = reader.on_sample(&other, input(20, 0x5000, AccessKind::Load)).arm.expect("something to watch");
    assert_eq!(plan.line, Addr(shared(64)).line());
    // A third process has not mapped the memory.
    let third = boards.board(1).with_common(&common, |_| false);
    assert_eq!(thread(0, 4).on_sample(&third, input(20, 0x5000, AccessKind::Load)).arm, None);
}

/// Garbage on the board is not believed.
#[test]
fn nonsense_is_nobodys_write() {
    let boards = Boards::default();
    let common = boards.board(2);
    let board = boards.board(0).with_common(&common, EVERYTHING);
    let mut writer = thread(0, 7);
    writer.on_sample(&board, input(10, shared(64), AccessKind::Store));
    let good = common.entries().next().expect("what was published");
    let broken: [fn(&mut Entry); 6] = [
        |entry| entry.weight = f32::NAN,
        |entry| entry.weight = 0.0,
        |entry| entry.write.access.width = 0,
        |entry| entry.write.access.kind = AccessKind::Load,
        |entry| entry.write.access.addr = Addr(64),
        |entry| entry.write.thread = ThreadId(7),
    ];
    for (number, spoil) in broken.into_iter().enumerate() {
        let mut entry = good;
        spoil(&mut entry);
        assert!(
            boards.slots[2].iter().filter(|slot| slot.read().is_some()).all(|slot| slot.try_write(&entry))
        );
        let mut reader = thread(0, 3);
        let decision = reader.on_sample(&board, input(20, shared(72), AccessKind::Load));
        assert_eq!((decision.event, decision.arm), (None, None), "{number}");
        assert_eq!(board.entries().count() + board.latest().count(), 0, "{number}");
    }
}
