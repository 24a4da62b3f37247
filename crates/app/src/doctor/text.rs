//! The report for people: the verdict first, then engines, facilities and the machine.

use std::{collections::BTreeSet, fmt::Write};

use super::model::{Answer, Machine, Report};

/// Columns of the whole text.
const WIDTH: usize = 100;
/// Column in which explanations begin.
const INDENT: usize = 42;

/// The whole report, ending in a newline.
pub fn render(report: &Report) -> String {
    let mut out = Text::default();
    out.paragraph(0, &report.verdict);
    out.heading("Engines");
    for engine in &report.engines {
        let answer = match (engine.in_this_version, engine.machine) {
            (false, _) => "no",
            (true, answer) => word(answer),
        };
        out.row(&engine.name, answer, &engine.text);
        for delivery in &engine.deliveries {
            out.row(
                &format!("  {}", delivery.name),
                word(delivery.support),
                delivery.cause.as_ref().unwrap_or(&delivery.costs),
            );
        }
    }
    out.heading("Facilities");
    for facility in &report.facilities {
        let what = match (&facility.cause, &facility.note) {
            (Some(cause), Some(note)) => format!("{cause}; {note}"),
            (Some(text), None) | (None, Some(text)) => text.clone(),
            (None, None) => String::new(),
        };
        out.row(&facility.title, word(facility.support), &what);
        if let Some(remedy) = &facility.remedy {
            out.paragraph(INDENT, &format!("-> {}", remedy.text));
            if let Some(command) = &remedy.command {
                // Never wrapped: it is there to be copied.
                out.line(INDENT + 3, command);
            }
        }
    }
    out.heading("Machine");
    machine(&mut out, &report.machine);
    out.0
}

fn word(answer: Answer) -> &'static str {
    match answer {
        Answer::Yes => "yes",
        Answer::No => "no",
        Answer::Unknown => "unknown",
    }
}

fn machine(out: &mut Text, machine: &Machine) {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".into());
    out.fact("kernel", &machine.kernel);
    let family = match (machine.cpu_family, machine.cpu_model) {
        (Some(family), Some(model)) => format!(" (family {family}, model {model})"),
        _ => String::new(),
    };
    out.fact("processor", &format!("{}{family}", machine.cpu));
    let count = |key: fn(&super::model::Cpu) -> (u32, u32)| {
        machine.cpus.iter().map(key).collect::<BTreeSet<_>>().len()
    };
    let plural = |n: usize, one: &str| if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") };
    let parts = [
        plural(machine.cpus.len(), "logical CPU"),
        plural(count(|c| (c.package, c.core)), "core"),
        plural(count(|c| (c.package, 0)), "package"),
        plural(count(|c| (c.node, 0)), "NUMA node"),
    ];
    out.fact("topology", &parts.join(", "));
    out.fact("hypervisor", &or_none(&machine.hypervisor));
    let container = machine.container.as_ref().map(|name| format!("looks like {name}"));
    out.fact("container", &or_none(&container));
    let mut user = format!("uid {}", machine.uid);
    user.push_str(if machine.perfmon {
        ", may profile (CAP_PERFMON or CAP_SYS_ADMIN)"
    } else {
        ", no CAP_PERFMON"
    });
    user.push_str(if machine.seccomp { ", under a seccomp filter" } else { "" });
    out.fact("user", &user);
    if let Some(tracer) = machine.tracer {
        out.fact("traced by", &format!("process {tracer}"));
    }
    out.fact("lockdown", machine.lockdown.as_deref().unwrap_or("none shown"));
    out.fact("shadow stacks", &machine.shadow_stack);
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn line(&mut self, indent: usize, text: &str) {
        // Names come from firmware and files: nothing in them may steer the terminal.
        let text: String = text.chars().filter(|c| !c.is_control()).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{:indent$}{text}", "");
    }

    fn heading(&mut self, text: &str) {
        self.0.push('\n');
        self.line(0, text);
    }

    fn paragraph(&mut self, indent: usize, text: &str) {
        for line in wrap(text, WIDTH - indent) {
            self.line(indent, &line);
        }
    }

    fn row(&mut self, name: &str, answer: &str, text: &str) {
        const NAME: usize = 31;
        let lines = wrap(text, WIDTH - INDENT);
        let first = lines.first().map_or("", String::as_str);
        self.line(2, format!("{name:NAME$} {answer:8}{first}").trim_end());
        for line in lines.iter().skip(1) {
            self.line(INDENT, line);
        }
    }

    fn fact(&mut self, name: &str, value: &str) {
        self.line(2, &format!("{name:14} {value}"));
    }
}

/// Breaks at spaces; a longer word stays whole.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_only() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"], "seven columns fit exactly");
        assert_eq!(wrap("a verylongword b", 5), ["a", "verylongword", "b"]);
        assert_eq!(wrap("  ", 5), [""; 0]);
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let mut text = Text::default();
        text.fact("processor", "evil\u{1b}[2J");
        assert!(!text.0.contains('\u{1b}'));
    }
}
