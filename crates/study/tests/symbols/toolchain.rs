//! Compilers and binutils for the tests.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use carom_base::Addr;
use carom_study::symbols::{Module, Symbols};
use tempfile::TempDir;

/// Where position-independent programs are taken to be loaded.
pub const PIE_BIAS: u64 = 0x5555_5555_4000;

/// More than any program here takes.
const SPAN: u64 = 0x1000_0000;

/// A program, deleted with its directory.
pub struct Program {
    pub directory: TempDir,
    pub path: PathBuf,
    pub bias: u64,
}

/// Runs a tool. `None`, with the reason on stderr, when it is not installed; panics when it fails.
pub fn run(tool: &str, arguments: &[&str]) -> Option<String> {
    let output = match Command::new(tool).args(arguments).output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("skipped: tool: {tool}: {error}");
            return None;
        }
    };
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{tool} {arguments:?}: {complaint}");
    Some(String::from_utf8(output.stdout).expect("tools print UTF-8"))
}

/// Compiles `source` to a program at bias 0 or, by default, [`PIE_BIAS`].
pub fn compile(compiler: &str, file: &str, source: &str, options: &[&str]) -> Option<Program> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let input = directory.path().join(file);
    std::fs::write(&input, source).expect("the source is written");
    let path = directory.path().join("program");
    let mut arguments = vec![text(&input), "-o", text(&path)];
    arguments.extend(options);
    run(compiler, &arguments)?;
    let bias = if options.contains(&"-no-pie") { 0 } else { PIE_BIAS };
    Some(Program { directory, path, bias })
}

pub fn text(path: &Path) -> &str {
    path.to_str().expect("temporary paths are UTF-8")
}

impl Program {
    /// The program's module.
    pub fn module(&self) -> Module {
        Module {
            path: self.path.clone(),
            build_id: None,
            bias: self.bias,
            low: self.bias,
            high: self.bias + SPAN,
            ..Module::default()
        }
    }

    /// Names for its addresses.
    pub fn symbols(&self) -> Symbols {
        Symbols::new(vec![self.module()], Vec::new(), Vec::new())
    }

    /// Loaded addresses and sizes from `nm`, by the name in the symbol table. Only for unstripped programs.
    pub fn nm(&self) -> HashMap<String, (u64, u64)> {
        let listing = run("nm", &["-S", "--defined-only", text(&self.path)]).expect("nm comes with cc");
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let symbols = listing.lines().filter_map(|line| {
            // Address, size, kind, name; without size for labels.
            let mut words = line.split(' ');
            let (address, size) = (number(words.next()?)?, number(words.next()?)?);
            Some((words.nth(1)?.to_owned(), (self.bias + address, size)))
        });
        symbols.collect()
    }

    /// The loaded address of the symbol `part`, or else of the only one whose name contains it.
    pub fn address(&self, part: &str) -> u64 {
        if let Some((address, _)) = self.nm().get(part) {
            return *address;
        }
        let found: Vec<_> = self.nm().into_iter().filter(|(name, _)| name.contains(part)).collect();
        let [(_, (address, _))] = found.as_slice() else { panic!("`{part}` names {found:?}") };
        *address
    }

    /// The loaded address of a section.
    pub fn section(&self, name: &str) -> u64 {
        let listing = run("readelf", &["-SW", text(&self.path)]).expect("readelf comes with cc");
        // [number] name type address …
        let address = listing.lines().find_map(|line| {
            let (_, rest) = line.split_once(']')?;
            let mut words = rest.split_whitespace();
            (words.next() == Some(name)).then(|| words.nth(1)).flatten()
        });
        let address = address.unwrap_or_else(|| panic!("no {name} in {listing}"));
        u64::from_str_radix(address, 16).expect("hexadecimal") + self.bias
    }
}

/// `field` of `width` bytes at `address + offset`.
pub fn field(symbols: &Symbols, address: u64, offset: u64, width: u32) -> String {
    symbols.field(Addr(address + offset), width).unwrap_or_else(|| "nothing".to_owned())
}
