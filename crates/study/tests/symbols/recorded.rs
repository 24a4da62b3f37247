//! Names for a recording that has heap blocks.

use carom_base::{Addr, Ip, Line, Nanos, ProcessId, StackId};
use carom_store::{HeapObject, Manifest, ModuleInfo, ProcessInfo, Recording, Stack, Writer};
use carom_study::recording::{Names, RecordedNames};
use carom_study::symbols::ObjectKind;

use crate::toolchain::{compile, text};

const SOURCE: &str = "
struct stats { long hits, misses; };
void *malloc(unsigned long size);
__attribute__((noipa)) struct stats *make(void) { struct stats *made = malloc(sizeof *made); return made; }
int main(void) { return (int)make()->hits; }
";

/// Inside a line, so that it holds the end of another object as well.
const BLOCK: Addr = Addr(0x40_0010);

#[test]
fn a_block_has_the_fields_of_its_type() {
    let Some(program) = compile("cc", "heap.c", SOURCE, &["-g", "-O0"]) else { return };
    let module = program.module();
    let modules = vec![ModuleInfo {
        path: text(&module.path).to_owned(),
        bias: module.bias,
        low: module.low,
        high: module.high,
        ..ModuleInfo::default()
    }];
    let process = ProcessInfo { modules, ..ProcessInfo::default() };
    let manifest = Manifest { processes: vec![process], ..Manifest::default() };
    let recorded = program.directory.path().join("recorded");
    let mut writer = Writer::create(&recorded, manifest.clone()).expect("a new directory");
    let site = StackId(1);
    // Any instruction of the function will do.
    let frames = vec![Ip(program.address("make"))];
    writer.push(&[Stack { process: ProcessId(0), id: site, frames, truncated: false }]);
    let block = |base, site| HeapObject { process: ProcessId(0), base, size: 16, site, seen: Nanos(0) };
    writer.push(&[block(BLOCK, site), block(Addr(BLOCK.0 + 16), StackId::NONE)]);
    writer.finish(manifest).expect("written");

    let recording = Recording::open(&recorded).expect("it is complete");
    let mut names = RecordedNames::new(&recording);
    let object = names.object(ProcessId(0), Addr(BLOCK.0 + 8));
    assert_eq!(object.kind, ObjectKind::Heap);
    assert_eq!(object.name, "16-byte block, presumably struct stats, allocated in make");
    let mut field = |at| names.field(ProcessId(0), Addr(BLOCK.0 + at), 8);
    assert_eq!(field(8).as_deref(), Some("struct stats.misses"));
    assert_eq!(field(16), None, "the next block's site is not known");
    let layout = names.layout(ProcessId(0), Line(BLOCK.0 / 64));
    let drawn: Vec<_> = layout.iter().map(|named| (named.offset, named.width, named.name.as_str())).collect();
    assert_eq!(drawn, [(16, 8, "struct stats.hits"), (24, 8, "struct stats.misses")]);
}
