//! Libraries that come and go.

use crate::support::{DENSE, compile, same_with};

#[test]
fn libraries_come_and_go_in_several_threads() {
    let plugins: Vec<String> = (1..=4)
        .map(|number| {
            let define = format!("-DNUMBER={number}");
            compile("robust/plugin.c", &["-shared", "-fPIC", &define]).to_string_lossy().into_owned()
        })
        .collect();
    let arguments: Vec<&str> = plugins.iter().map(String::as_str).collect();
    let (ending, _) = same_with(&DENSE, &compile("robust/plugins.c", &["-ldl"]), &arguments);
    assert_eq!(ending.code(), Some(0), "{}", ending.complaint());
}
