//! Accesses as other tools print them.

use carom_base::AccessKind::{self, Load, ReadModifyWrite, Store};
use carom_base_stream::{
    Event,
    import::{Importer, Origin},
};
use proptest::prelude::*;

/// The accesses of a text: thread, kind, address, width, instruction; at 0, 1, 2 ns and so on.
fn accesses(text: &str) -> Vec<(u32, AccessKind, u64, u32, u64)> {
    let origin = text.lines().find_map(Origin::of).expect("a known text");
    let mut importer = origin.importer();
    let records = text.lines().filter_map(|line| importer.line(line).expect("a line of this tool"));
    (0..)
        .zip(records)
        .map(|(number, record)| {
            assert_eq!(record.time.0, number);
            let Event::Access(streamed) = record.event else { panic!("an access") };
            let access = streamed.access;
            (record.thread.0, access.kind, access.addr.0, access.width, access.ip.0)
        })
        .collect()
}

#[test]
fn lackey_prints_instructions_and_their_accesses() {
    let text = "==7== Lackey, an example Valgrind tool\n\
                ==7== \n\
                I  04020290,3\n\
                I  04020293,5\n \
                S 1ffeffe7e8,8\n\
                I  04020298,4\n \
                L 0421c7cc,4\n \
                M 0421c7cd,1\n\
                ==7== Exit code:       0\n";
    assert_eq!(
        accesses(text),
        [
            (0, Store, 0x1f_feff_e7e8, 8, 0x402_0293),
            (0, Load, 0x421_c7cc, 4, 0x402_0298),
            (0, ReadModifyWrite, 0x421_c7cd, 1, 0x402_0298),
        ]
    );
}

#[test]
fn drcachesim_prints_the_thread_of_each_access() {
    let text = "Output format:\n\
        <--record#-> <--instr#->: <---tid---> <record details>\n\
        ------------------------------------------------------------\n           \
        1           0:     3264604 <marker: version 6>\n           \
        9           1:     3264604 ifetch       3 byte(s) @ 0x00007f3cd61d1100 48 89 e7             mov    %rsp, %rdi\n          \
        10           1:     3264604 write        8 byte(s) @ 0x00007ffc5cf2f0b8 by PC 0x00007f3cd61d1103\n          \
        11           2:    W0.T7 read         4 byte(s) @ 0x00007ffc5cf2f0bc by PC 0x00007f3cd61d2000\n\
        View tool results:\n";
    assert_eq!(
        accesses(text),
        [
            (3_264_604, Store, 0x7ffc_5cf2_f0b8, 8, 0x7f3c_d61d_1103),
            (7, Load, 0x7ffc_5cf2_f0bc, 4, 0x7f3c_d61d_2000),
        ]
    );
}

#[test]
fn who_printed_a_line_is_told_by_its_form() {
    for (line, origin) in [
        ("0 store 8 @0x1000", Some(Origin::Carom)),
        ("# a comment", None),
        ("I  0401000,3", Some(Origin::Lackey)),
        (" L 0401000,x", None),
        ("==1== Command: ls", None),
        ("  1   0:   99 <marker: version 6>", Some(Origin::Drcachesim)),
        ("hello", None),
    ] {
        assert_eq!(Origin::of(line), origin, "{line}");
    }
}

#[test]
fn numbers_that_cannot_be_are_named() {
    let complaint = |origin: Origin, line: &str| {
        let mut importer = origin.importer();
        let _ = importer.line("a line before it");
        importer.line(line).expect_err(line).to_string()
    };
    assert_eq!(complaint(Origin::Lackey, " S xyz,8"), "line 2: \"xyz\" is not an address");
    assert_eq!(complaint(Origin::Lackey, " S 10,-8"), "line 2: \"-8\" is not a size");
    let far = " L ffffffffffffffff,8";
    assert_eq!(complaint(Origin::Lackey, far), "line 2: the access goes past the end of the address space");
    let view = "1 1: 99999999999 read 8 byte(s) @ 0x10 by PC 0x20";
    assert_eq!(complaint(Origin::Drcachesim, view), "line 2: \"99999999999\" is not a thread");
}

proptest! {
    /// No line makes an importer fail, and what it gives lies within memory, in order.
    #[test]
    fn any_text_is_read_to_its_end(
        lines in prop::collection::vec("[ ILSM]{3}[0-9a-fx]{0,18},[0-9]{0,12}|.{0,40}|[0-9 :T]{1,12} (read|write) [0-9]{1,21} byte\\(s\\) @ [0-9a-fx]{1,20} by PC [0-9a-f]{1,17}", 0..40)
    ) {
        for origin in [Origin::Carom, Origin::Lackey, Origin::Drcachesim] {
            let mut importer: Importer = origin.importer();
            let mut last = 0;
            for line in &lines {
                if let Ok(Some(record)) = importer.line(line)
                    && let Event::Access(streamed) = record.event
                {
                    prop_assert!(streamed.access.width > 0);
                    prop_assert!(streamed.access.addr.0.checked_add(u64::from(streamed.access.width)).is_some());
                    if origin != Origin::Carom {
                        prop_assert!(record.time.0 >= last);
                        last = record.time.0;
                    }
                }
            }
        }
    }
}
