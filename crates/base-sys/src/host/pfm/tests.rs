use super::*;

fn library() -> Option<Pfm> {
    match Pfm::open() {
        Ok(library) => Some(library),
        Err(error) => {
            println!("skipped: tool: {error}");
            None
        }
    }
}

/// Event numbers and unit masks as their makers document them: Intel's SDM 3B, chapter 20 (event lists of the models), AMD's
/// processor programming references of family 17h model 31h and 19h model 1h (PMCx0C0, PMCx0C2, PMCx043), and the technical
/// reference manuals of ARM's Cortex-A57 (section 11.8) and Neoverse N1. The unit mask stands above the event.
const KNOWN: [(&str, &str, u64); 12] = [
    ("skl", "skl::INST_RETIRED:ANY_P", 0x00c0),
    ("skl", "skl::LONGEST_LAT_CACHE:MISS", 0x412e),
    ("skl", "skl::MEM_LOAD_RETIRED:L3_MISS", 0x20d1),
    ("hsw", "hsw::MEM_LOAD_UOPS_L3_HIT_RETIRED:XSNP_HITM", 0x04d2),
    ("hsw", "hsw::BR_MISP_RETIRED:ALL_BRANCHES", 0x00c5),
    ("amd64_fam17h_zen2", "amd64_fam17h_zen2::RETIRED_INSTRUCTIONS", 0x00c0),
    ("amd64_fam17h_zen2", "amd64_fam17h_zen2::RETIRED_BRANCH_INSTRUCTIONS", 0x00c2),
    ("amd64_fam19h_zen3", "amd64_fam19h_zen3::RETIRED_INSTRUCTIONS", 0x00c0),
    ("amd64_fam19h_zen3", "amd64_fam19h_zen3::RETIRED_BRANCH_INSTRUCTIONS", 0x00c2),
    ("arm_ac57", "arm_ac57::L1D_CACHE_REFILL", 0x0003),
    ("arm_ac57", "arm_ac57::INST_RETIRED", 0x0008),
    ("arm_n1", "arm_n1::BUS_ACCESS", 0x0019),
];

/// Bits of an encoding that name the event: modes and flags lie elsewhere.
const NAMED: u64 = 0xffff;

#[test]
fn known_events_have_their_makers_encodings() {
    let Some(library) = library() else { return };
    for (pmu, event, expected) in KNOWN {
        if library.pmu(pmu).is_err() {
            println!("skipped: processor: this build of libpfm does not know {pmu}");
            continue;
        }
        let codes = library.encode(event).unwrap();
        assert_eq!(codes[0] & NAMED, expected, "{event}: {codes:x?}");
    }
}

#[test]
fn events_of_models_are_listed_and_all_can_be_encoded() {
    let Some(library) = library() else { return };
    let pmu = library.pmu("skl").unwrap();
    let events = library.events(&pmu);
    assert!(events.len() > pmu.events as usize, "unit masks too: {}", events.len());
    let miss = events.iter().find(|event| event.name == "skl::LONGEST_LAT_CACHE:MISS").unwrap();
    assert!(miss.description.to_lowercase().contains("miss"), "{miss:?}");
    let encoded = events.iter().filter(|event| library.encode(&event.name).is_ok()).count();
    // Some need two unit masks.
    assert!(encoded * 2 > events.len(), "{encoded} of {}", events.len());
}

#[test]
fn what_is_not_known_is_refused_with_the_reason() {
    let Some(library) = library() else { return };
    assert_eq!(library.pmu("pdp11"), Err(PfmError::NoPmu("pdp11".into())));
    let refused = library.encode("skl::NOTHING").unwrap_err().to_string();
    assert!(refused.starts_with("skl::NOTHING: ") && refused.contains("not found"), "{refused}");
    assert!(library.encode("skl::INST\0").is_err());
}
