//! The words and signs of a Rust text that matter for paths.

/// Names, `::` and single other signs, without comments, strings, characters, numbers and lifetimes.
pub fn tokens(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let taken = length(rest, first);
        let (token, behind) = rest.split_at(taken);
        let is_word = first.is_alphabetic() || first == '_';
        let is_sign = !first.is_alphanumeric() && !first.is_whitespace();
        let is_skipped = matches!(first, '"' | '\'') || token.starts_with("//") || token.starts_with("/*");
        // A string may have a letter in front of its quotation mark.
        if (is_word && !token.ends_with(['"', '#'])) || is_sign && !is_skipped {
            found.push(token);
        }
        rest = behind;
    }
    found
}

/// The bytes of the token that `text` begins with.
fn length(text: &str, first: char) -> usize {
    let until = |end: &str, from: usize| text.get(from..).and_then(|rest| rest.find(end)).map(|at| from + at);
    match first {
        '/' if text.starts_with("//") => until("\n", 0).unwrap_or(text.len()),
        '/' if text.starts_with("/*") => until("*/", 2).map_or(text.len(), |at| at + 2),
        ':' if text.starts_with("::") => 2,
        '"' => string(text),
        '\'' => character(text),
        _ if first.is_alphanumeric() || first == '_' => {
            let word = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
            match (text.get(..word), text.get(word..)) {
                (Some("r" | "br" | "cr"), Some(rest)) if rest.starts_with(['"', '#']) => {
                    word + raw_string(rest)
                }
                (Some("b" | "c"), Some(rest)) if rest.starts_with('"') => word + string(rest),
                _ => word,
            }
        }
        _ => first.len_utf8(),
    }
}

fn string(text: &str) -> usize {
    let mut escaped = true;
    let end = text.char_indices().find(|&(at, c)| {
        let ends = c == '"' && !escaped;
        escaped = at > 0 && c == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

/// `#"…"#`, with any number of `#`.
fn raw_string(text: &str) -> usize {
    let marks = text.len() - text.trim_start_matches('#').len();
    let end = format!("\"{}", "#".repeat(marks));
    let body = marks + 1;
    text.get(body..).and_then(|rest| rest.find(&end)).map_or(text.len(), |at| body + at + end.len())
}

/// A character, or the sign and the name of a lifetime.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), Some((at, _))) => {
            text.get(at + 1..).and_then(|rest| rest.find('\'')).map_or(text.len(), |end| at + end + 2)
        }
        (_, Some((at, '\''))) => at + 1,
        _ => {
            1 + text
                .get(1..)
                .and_then(|rest| rest.find(|c: char| !c.is_alphanumeric() && c != '_'))
                .unwrap_or(0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_and_signs_are_left() {
        let text = r##"a::b<'x>(1_u8, 'c', '\'', "d\"e::f", r#"g"h"#, b"i") // j
            /* k */ l"##;
        let signs = ["a", "::", "b", "<", ">", "(", ",", ",", ",", ",", ",", ")", "l"];
        assert_eq!(tokens(text), signs);
    }
}
