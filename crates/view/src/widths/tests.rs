use std::collections::BTreeMap;

use carom_study::{recording::Losses, widths::WidthsFindings};

use super::report;
use crate::{csv, sample, text, web};

fn findings(samples: &[(u32, u64)]) -> WidthsFindings {
    WidthsFindings { samples: BTreeMap::from_iter(samples.iter().copied()), losses: Losses::default() }
}

/// 300 of 400 accesses are 8 bytes wide.
#[test]
fn the_most_frequent_width_is_the_verdict() {
    let report = report(&sample::counted().0, &findings(&[(1, 100), (8, 300)]));
    assert_eq!(
        report.verdict,
        "75% of the 400 sampled accesses are 8 bytes wide, more than of any other width."
    );
    let text = text::render(&report, &text::Options::default());
    assert!(text.contains("\nAccesses by width\n1 byte    25%\n8 bytes   75%\n"), "{text}");
    let files = csv::files(&report);
    assert_eq!(files[0].text, "bytes,samples,share\n1,100,0.25\n8,300,0.75\n");
    assert!(
        web::html(&report).unwrap().contains("\"by_width\":[{\"bytes\":1,\"samples\":100,\"share\":0.25}")
    );
}

#[test]
fn without_samples_the_report_says_so() {
    let report = report(&sample::counted().0, &findings(&[]));
    assert_eq!(report.verdict, "No access was sampled: the program made too few for this period.");
}
