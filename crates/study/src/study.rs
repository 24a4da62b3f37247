use crate::recording::{Combine, Recordings, Window};

/// A question that recordings answer. Its folder holds what else belongs to it: the findings, and how they come about.
pub trait Study {
    /// The findings: plain values, which `carom-view` lays out.
    type Findings;

    /// How it takes several recordings as one.
    fn combine(&self, _recordings: &Recordings<'_>) -> Combine {
        Combine::Ranks
    }

    /// Reads what it needs of the recordings, taken as one, and concludes.
    fn study(&self, recordings: &mut Recordings<'_>) -> Self::Findings;
}

/// A question that a part of a run answers as well: its rows have times.
pub trait StudyOfWindow: Study {
    /// As [`Study::study`], from what lies in this window alone.
    fn study_window(&self, recordings: &mut Recordings<'_>, window: Window) -> Self::Findings;
}
