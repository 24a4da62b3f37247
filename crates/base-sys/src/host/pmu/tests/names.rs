//! From names to numbers.

use perf_event_open_sys::bindings as perf;

use super::Tree;
use crate::host::{
    pfm::{Pfm, PfmError},
    pmu::{PmuError, event, event::Code, event::Without},
};

/// Encodings as their makers and perf document them: Intel's SDM 3B, chapter 20 (0xc0 instructions, 0x412e misses of
/// the last level, 0x1cd loads by latency, 0x1b7 offcore responses), AMD's PMCx18F (12 bits in two parts), ARM's
/// architecture (0x19).
const KNOWN: [(&str, u32, [u64; 4]); 12] = [
    ("cpu/instructions/", 4, [0xc0, 0, 0, 0]),
    ("cpu/cache-misses/", 4, [0x412e, 0, 0, 0]),
    ("cpu/event=0x2e,umask=0x41/", 4, [0x412e, 0, 0, 0]),
    ("cpu/mem-loads/", 4, [0x1cd, 3, 0, 0]),
    // What the user says replaces what the name stands for.
    ("cpu/mem-loads,ldlat=30/", 4, [0x1cd, 30, 0, 0]),
    ("cpu/event=0xb7,umask=1,offcore_rsp=0x3f803c0001/", 4, [0x1b7, 0x3f_803c_0001, 0, 0]),
    ("cpu/event=0xc2,umask=2,cmask=10,inv,edge/", 4, [0x0a84_02c2, 0, 0, 0]),
    ("cpu/config=0x5301b7,config1=7/", 4, [0x53_01b7, 7, 0, 0]),
    ("amd/event=0x18f,umask=0x1f/", 40, [0x1_0000_1f8f, 0, 0, 0]),
    ("armv8_pmuv3_0/bus_access/", 41, [0x19, 0, 0, 0]),
    ("power/energy-pkg/", 9, [2, 0, 0, 0]),
    ("cqm/occupancy,core=5/", 14, [0x501, 0, 0, 0]),
];

#[test]
fn terms_become_the_numbers_that_perf_makes_of_them() {
    let tree = Tree::new();
    for (name, kind, words) in KNOWN {
        let found = event(&tree.root(), name).unwrap();
        let [code] = &found.codes[..] else { panic!("{found:?}") };
        assert_eq!((code.kind, code.words), (kind, words), "{name}: {:x?}", code.words);
    }
}

#[test]
fn energy_has_its_scale_its_unit_and_its_processor() {
    let tree = Tree::new();
    let energy = event(&tree.root(), "power/energy-pkg/").unwrap();
    // 2 to the -32, as the register counts.
    assert_eq!((energy.scale, energy.unit.as_deref()), ((-32_f64).exp2(), Some("Joules")));
    assert!(energy.is_of_machine());
    assert_eq!(energy.codes[0].cpus, [0]);
    let instructions = event(&tree.root(), "cpu/instructions/").unwrap();
    assert_eq!((instructions.scale, instructions.unit.as_deref()), (1.0, None));
    assert!(!instructions.is_of_machine());
}

#[test]
fn boxes_of_an_uncore_are_one_event() {
    let tree = Tree::new();
    for name in ["uncore_imc/cas_count_read/", "imc/cas_count_read/"] {
        let reads = event(&tree.root(), name).unwrap();
        let code = |kind| Code { kind, words: [0x304, 0, 0, 0], cpus: vec![0, 28], ..Code::default() };
        assert_eq!(reads.codes, [code(12), code(13)], "{name}");
        assert_eq!((reads.scale, reads.unit.as_deref()), (6.103_515_625e-5, Some("MiB")));
    }
    assert_eq!(event(&tree.root(), "uncore_imc_1/cas_count_read/").unwrap().codes.len(), 1);
}

#[test]
fn modes_leave_out_the_others() {
    let tree = Tree::new();
    let without =
        |modes: &str| event(&tree.root(), &format!("cpu/instructions/{modes}")).unwrap().codes[0].without;
    assert_eq!(without(""), Without::default());
    assert_eq!(without("u"), Without { user: false, kernel: true, hypervisor: true });
    assert_eq!(without("uk"), Without { user: false, kernel: false, hypervisor: true });
    assert_eq!(without("k"), Without { user: true, kernel: false, hypervisor: true });
}

#[test]
fn what_is_not_there_is_refused_with_what_is() {
    let tree = Tree::new();
    let refused = |name: &str| event(&tree.root(), name).unwrap_err().to_string();
    let said = |name: &str, parts: &[&str]| {
        let text = refused(name);
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    };
    said("gpu/x/", &["no PMU \"gpu\"", "power", "carom doctor"]);
    said("power/energy-moon/", &["power has no event or field \"energy-moon\"", "event, energy-pkg"]);
    said("cpu/event=0x100/", &["\"event\" needs a number from 0 to 0xff"]);
    said("cpu/event=x/", &["needs a number"]);
    said("cpu/inv=2/", &["0 to 0x1"]);
    said("cqm/occupancy/", &["\"core\" needs a number from 0 to 0xf"]);
    said("cpu/instructions/x", &["'x' is no modifier"]);
    said("cycles", &["PMU/EVENT/"]);
    tree.write("cqm/events/occupancy.snapshot", "1");
    assert_eq!(
        event(&tree.root(), "cqm/occupancy,core=1/"),
        Err(PmuError::Level("cqm/occupancy,core=1/".into()))
    );
}

/// Names come from the command line: whatever they are, they are an event or refused.
#[test]
fn no_name_does_harm() {
    let tree = Tree::new();
    let parts = [
        "cpu",
        "/",
        "event",
        "=",
        "0x",
        "ff",
        ",",
        "::",
        "u",
        "..",
        "é",
        "\0",
        "mem-loads",
        "umask",
        "9",
        ":",
        "",
    ];
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let mut known = 0;
    for round in 0..4000 {
        let tail: String = (0..next() % 8).map(|_| parts[next() % parts.len()]).collect();
        let name = if round % 2 == 0 { format!("cpu/event={tail}/") } else { tail };
        known += usize::from(!name.contains("::") && event(&tree.root(), &name).is_ok());
    }
    assert!(known > 0, "some of them are events");
}

/// By libpfm: encodings for the kernel, of models that this machine need not be.
#[test]
fn libpfm_encodes_for_the_kernel() {
    let library = match Pfm::open() {
        Ok(library) => library,
        Err(error) => return println!("skipped: tool: {error}"),
    };
    let code = |name: &str| Code::of(&library.perf(name).unwrap());
    let raw = |config, without| Code {
        kind: perf::PERF_TYPE_RAW,
        words: [config, 0, 0, 0],
        without,
        ..Code::default()
    };
    let user = Without { kernel: true, ..Without::default() };
    if library.pmu("skl").is_ok() {
        assert_eq!(code("skl::LONGEST_LAT_CACHE:MISS"), raw(0x412e, Without::default()));
        assert_eq!(code("skl::LONGEST_LAT_CACHE:MISS:u"), raw(0x412e, user));
        assert_eq!(code("skl::BR_MISP_RETIRED:ALL_BRANCHES:c=1:e").words[0], 0x0104_00c5);
        assert_eq!(code("skl::OFFCORE_RESPONSE_0:DMND_DATA_RD:ANY_RESPONSE").words[..2], [0x1b7, 0x1_0001]);
    }
    if library.pmu("amd64_fam19h_zen3").is_ok() {
        assert_eq!(code("amd64_fam19h_zen3::RETIRED_INSTRUCTIONS:u"), raw(0xc0, user));
    }
    let faults = code("perf::PAGE-FAULTS");
    assert_eq!(
        (faults.kind, faults.words[0]),
        (perf::PERF_TYPE_SOFTWARE, u64::from(perf::PERF_COUNT_SW_PAGE_FAULTS))
    );
    assert!(library.perf("skl::NOTHING").is_err());

    // This machine is at most one of them.
    let root = crate::host::machine::Root::system();
    let of_models = ["skl::INST_RETIRED:ANY_P", "amd64_fam19h_zen3::RETIRED_INSTRUCTIONS"];
    let errors: Vec<PmuError> = of_models.iter().filter_map(|name| event(&root, name).err()).collect();
    assert!(!errors.is_empty());
    for error in errors {
        let text = error.to_string();
        let unknown_model = matches!(error, PmuError::Pfm(PfmError::NoPmu(_)));
        assert!(unknown_model || text.contains("--list --pmu") && text.contains("libpfm finds"), "{text}");
    }
}
