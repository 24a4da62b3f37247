use crate::read::Recording;
use crate::rows::Row;
use crate::rules::{Findings, RowContext, Rule};

/// Checks every row of one table.
pub fn check_rows<R: Row>(recording: &Recording, context: &mut RowContext<'_>, found: &mut Findings) {
    let file = R::KIND.file_name();
    let mut rows = recording.rows::<R>();
    let mut number = 0;
    for row in rows.by_ref() {
        if found.is_full() {
            return;
        }
        match row {
            Ok(row) => {
                row.check(context, &mut |rule| found.add(file, Some(number), rule));
                number += 1;
            }
            Err(error) => found.add(file, None, Rule::Unreadable(error.to_string())),
        }
    }
    if context.run.finished && rows.truncated() {
        found.add(file, None, Rule::Truncated);
    }
}
