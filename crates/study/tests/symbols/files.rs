//! Separate debug files, stripped and changed files, and memory outside of modules.

use std::path::PathBuf;

use carom_base::{Addr, Ip};
use carom_study::symbols::{Mapping, Module, ObjectKind, Problem, Symbols, ThreadStack};

use crate::c::SOURCE;
use crate::toolchain::{Program, compile, field, run, text};

/// `stats` and `work` of a program whose debug information was moved away, and the file that it is in.
struct Split {
    program: Program,
    debug: PathBuf,
    stats: u64,
    work: u64,
    build_id: String,
}

fn split() -> Option<Split> {
    let program = compile("cc", "stats.c", SOURCE, &["-g", "-Wl,--build-id"])?;
    let (stats, work) = (program.address("stats"), program.address("work"));
    let notes = run("readelf", &["-n", text(&program.path)])?;
    let build_id = notes.lines().find_map(|line| line.trim().strip_prefix("Build ID: ")).expect("asked for");
    let debug = program.directory.path().join("program.debug");
    run("objcopy", &["--only-keep-debug", text(&program.path), text(&debug)])?;
    run("strip", &[text(&program.path)])?;
    Some(Split { build_id: build_id.to_owned(), program, debug, stats, work })
}

/// Everything that only debug information knows is there.
fn check_complete(split: &Split, symbols: &Symbols) {
    assert_eq!(field(symbols, split.stats, 8, 8), "stats.misses");
    let frames = symbols.frames(Ip(split.work), false);
    assert_eq!(frames.len(), 1);
    assert_eq!(frames[0].function.as_deref(), Some("work"));
    assert!(frames[0].line.is_some());
    assert_eq!(symbols.notes(), []);
}

#[test]
fn a_stripped_program_keeps_modules_sections_and_function_starts() {
    let Some(split) = split() else { return };
    let symbols = split.program.symbols().with_debug_directories(Vec::new());
    let frames = symbols.frames(Ip(split.work + 1), false);
    // `.eh_frame` survives strip.
    let start = split.work - split.program.bias;
    assert_eq!(frames[0].function, Some(format!("function at {start:#x}")));
    assert_eq!(frames[0].module.as_ref(), Some(&split.program.path));
    assert_eq!(frames[0].address, start + 1);
    let object = symbols.object(Addr(split.stats));
    assert_eq!(object.name, ".data of program", "GCC puts what is const and volatile there");
    assert_eq!(symbols.field(Addr(split.stats), 8), None);
    assert_eq!(symbols.layout(Addr(split.stats), Addr(split.stats + 64)), []);
}

#[test]
fn stubs_of_the_jump_table_are_not_functions() {
    let source = "int puts(const char *); int main(void) { return puts(\"\"); }";
    let options = ["-g", "-no-pie", "-fcf-protection=none", "-Wl,-z,lazy"];
    let Some(program) = compile("cc", "put.c", source, &options) else { return };
    // The first stub, of 16 bytes, calls the dynamic linker; the second is that of `puts`.
    let frames = program.symbols().frames(Ip(program.section(".plt") + 16), false);
    assert_eq!(frames[0].function.as_deref(), Some("stub in `.plt`"));
}

#[test]
fn a_debug_file_is_found_by_build_id() {
    let Some(split) = split() else { return };
    let root = split.program.directory.path().join("debug-root");
    let (directory, rest) = split.build_id.split_at(2);
    let home = root.join(".build-id").join(directory);
    std::fs::create_dir_all(&home).expect("a directory");
    std::fs::rename(&split.debug, home.join(format!("{rest}.debug"))).expect("moved");
    check_complete(&split, &split.program.symbols().with_debug_directories(vec![root.clone()]));

    // The program itself may be gone: its build-id was recorded.
    let module = Module { build_id: Some(split.build_id.clone()), ..split.program.module() };
    std::fs::remove_file(&split.program.path).expect("removed");
    let symbols = Symbols::new(vec![module], vec![], vec![]).with_debug_directories(vec![root]);
    assert_eq!(field(&symbols, split.stats, 8, 8), "stats.misses");
    assert!(matches!(symbols.notes().as_slice(), [note] if matches!(note.problem, Problem::Unreadable(_))));
}

#[test]
fn a_debug_file_is_found_by_its_link_and_checked() {
    let Some(split) = split() else { return };
    let program = text(&split.program.path);
    let Some(_) = run("objcopy", &[&format!("--add-gnu-debuglink={}", text(&split.debug)), program]) else {
        return;
    };
    let hidden = split.program.directory.path().join(".debug");
    std::fs::create_dir(&hidden).expect("a directory");
    let moved = hidden.join("program.debug");
    std::fs::rename(&split.debug, &moved).expect("moved");
    check_complete(&split, &split.program.symbols());

    // Without build-ids the checksum decides.
    for file in [program, text(&moved)] {
        run("objcopy", &["--remove-section=.note.gnu.build-id", file]);
    }
    run("objcopy", &["--remove-section=.gnu_debuglink", program]);
    run("objcopy", &[&format!("--add-gnu-debuglink={}", text(&moved)), program]);
    check_complete(&split, &split.program.symbols());
    let mut bytes = std::fs::read(&moved).expect("it is there");
    bytes.push(0);
    std::fs::write(&moved, bytes).expect("written");
    assert_eq!(split.program.symbols().field(Addr(split.stats), 8), None, "another file of that name");
}

#[test]
fn what_dwz_moved_to_a_common_file_is_found() {
    let Some(split) = split() else { return };
    // dwz wants two files with something in common.
    let twin = split.program.directory.path().join("twin.debug");
    std::fs::copy(&split.debug, &twin).expect("copied");
    let common = split.program.directory.path().join("common.debug");
    let moved = run("dwz", &["-r", "-m", text(&common), text(&split.debug), text(&twin)]);
    if moved.is_none() {
        return;
    }
    let link = format!("--add-gnu-debuglink={}", text(&split.debug));
    run("objcopy", &[&link, text(&split.program.path)]);
    let sections = run("readelf", &["-SW", text(&split.debug)]).expect("readelf comes with cc");
    assert!(sections.contains(".gnu_debugaltlink"), "dwz found nothing to move");
    check_complete(&split, &split.program.symbols());
}

#[test]
fn split_dwarf_degrades_to_symbols_and_lines() {
    let Some(program) = compile("cc", "stats.c", SOURCE, &["-g", "-gsplit-dwarf"]) else { return };
    let symbols = program.symbols();
    let frames = symbols.frames(Ip(program.address("work")), false);
    assert_eq!(frames[0].function.as_deref(), Some("work"));
    assert!(frames[0].line.is_some());
    let stats = Addr(program.address("stats"));
    let object = symbols.object(stats);
    assert_eq!((object.name.as_str(), object.size), ("stats", Some(104)));
    assert_eq!(symbols.field(stats, 8), None);
    let layout = symbols.layout(stats, Addr(stats.0 + 64));
    assert_eq!(layout, [(0..64, "stats".to_owned())]);
}

#[test]
fn a_file_that_changed_is_refused_with_a_note() {
    let Some(split) = split() else { return };
    let module = |id: &str| Module { build_id: Some(id.to_owned()), ..split.program.module() };
    let symbols = Symbols::new(vec![module("0123")], vec![], vec![]);
    let frames = symbols.frames(Ip(split.work), false);
    assert_eq!(frames[0].function, None);
    assert_eq!(frames[0].module.as_ref(), Some(&split.program.path));
    assert_eq!(frames[0].address, split.work - split.program.bias);
    assert_eq!(symbols.object(Addr(split.stats)).name, "program");
    let notes = symbols.notes();
    let found = Some(split.build_id.clone());
    assert_eq!(notes[0].problem, Problem::Changed { recorded: "0123".to_owned(), found });

    let same = Symbols::new(vec![module(&split.build_id)], vec![], vec![]);
    assert!(same.frames(Ip(split.work), false)[0].function.is_some());
    assert_eq!(same.notes(), []);
}

#[test]
fn memory_outside_of_modules_is_called_what_it_is() {
    let mapping = |low, high, path: &str| Mapping { low, high, path: path.to_owned() };
    let symbols = Symbols::new(
        vec![],
        vec![
            mapping(0x1000, 0x3000, "[heap]"),
            mapping(0x4000, 0x8000, ""),
            mapping(0x8000, 0x9000, "/dev/shm/queue"),
            mapping(0xa000, 0xb000, "[stack]"),
            mapping(0xc000, 0xd000, "[vdso]"),
        ],
        vec![ThreadStack {
            name: "worker-1".to_owned(),
            low: 0x6000,
            high: 0x7000,
            ..ThreadStack::default()
        }],
    );
    let check = |address, kind, name: &str, offset, size| {
        let object = symbols.object(Addr(address));
        assert_eq!((object.kind, object.name.as_str()), (kind, name));
        assert_eq!((object.offset, object.size), (offset, size));
    };
    let unknown = "heap (allocation site unknown)";
    check(0x1048, ObjectKind::Heap, unknown, 0x40, None);
    check(0x4000, ObjectKind::Heap, unknown, 0, None);
    check(0x6081, ObjectKind::Stack, "stack of worker-1", 0x80, Some(0x1000));
    check(0x8001, ObjectKind::Mapped, "/dev/shm/queue", 0, Some(0x1000));
    check(0xa000, ObjectKind::Stack, "stack of the main thread", 0, Some(0x1000));
    check(0xffff, ObjectKind::Heap, unknown, 0, None);
    assert_eq!(symbols.field(Addr(0x1048), 8), None);
    let frames = symbols.frames(Ip(0xc010), false);
    assert_eq!((frames[0].module.clone(), frames[0].address), (Some(PathBuf::from("[vdso]")), 0x10));
    assert_eq!(symbols.frames(Ip(0x4001), true)[0].address, 0x4001, "code made at run time");
}
