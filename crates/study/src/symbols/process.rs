//! The address space of one process of a recording.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use super::debug_file::DEBUG_DIRECTORY;
use super::generated::{Description, GeneratedCode, Malformed};
use super::image::Image;

/// An executable or library as it was loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// The file.
    pub path: PathBuf,
    /// `NT_GNU_BUILD_ID` in lower-case hexadecimal, where the loaded file had one.
    pub build_id: Option<String>,
    /// Load address minus stated address: 0 for an executable that is not position-independent.
    pub bias: u64,
    /// First address.
    pub low: u64,
    /// One past the last address, `.bss` included.
    pub high: u64,
    /// Bytes from the first of its thread-local variables to the thread pointer, where that is the same in all threads.
    pub tls: Option<u64>,
}

/// A line of `/proc/PID/maps` that belongs to no module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub low: u64,
    /// One past the last address.
    pub high: u64,
    /// A file, a name in brackets such as `[heap]`, or empty for anonymous memory.
    pub path: String,
}

/// Where a thread's stack was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadStack {
    /// The thread's name.
    pub name: String,
    /// Lowest address.
    pub low: u64,
    /// One past the highest address.
    pub high: u64,
    /// The thread pointer; 0 where not known.
    pub thread_pointer: u64,
    /// Where frames lay at different times, innermost first.
    pub frames: Vec<Vec<StackFrame>>,
}

/// A frame on a stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackFrame {
    /// An instruction of its function: behind the innermost frame a return address.
    pub ip: u64,
    /// One past its last byte: the canonical frame address.
    pub end: u64,
}

/// Why a module's own file gives no names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Problem {
    /// It is gone, or may not be read.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// It is no ELF file, or a damaged one.
    #[error("is not a usable ELF file: {0}")]
    NotElf(String),
    /// It was replaced after the recording.
    #[error("has changed since the recording (build-id {recorded} then, {} now)", found.as_deref().unwrap_or("none"))]
    Changed {
        /// The build-id of the file that ran.
        recorded: String,
        /// That of the file that is there now.
        found: Option<String>,
    },
    /// It describes code that the process made, and cannot be used to its end.
    #[error("{0}")]
    Description(String),
}

/// A module whose addresses stay without names from its own file, for the report's warnings. In order of address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Note {
    /// The module's first address.
    pub low: u64,
    /// The module.
    pub module: PathBuf,
    /// The problem with it.
    pub problem: Problem,
}

/// Names for the addresses of one process. A file is read once, when the first address in it is asked for.
pub struct Symbols {
    modules: Vec<Loaded>,
    pub(super) mappings: Vec<Mapping>,
    pub(super) stacks: Vec<ThreadStack>,
    directories: Vec<PathBuf>,
    images: Images,
    descriptions: Vec<Description>,
    /// What they say, once it was needed.
    generated: OnceCell<(GeneratedCode, Vec<Note>)>,
    /// Generated code was asked for since [`Symbols::notes`] last told.
    generated_needed: Cell<bool>,
}

/// What was read of modules, shared by the processes that have loaded them.
#[derive(Clone, Default)]
pub struct Images(Rc<RefCell<HashMap<FileId, Rc<Image>>>>);

/// A file and its build-id.
type FileId = (PathBuf, Option<String>);

impl Images {
    fn get(&self, module: &Module, directories: &[PathBuf]) -> Rc<Image> {
        let key = (module.path.clone(), module.build_id.clone());
        let known = self.0.borrow().get(&key).cloned();
        known.unwrap_or_else(|| {
            let image = Rc::new(Image::load(module, directories));
            self.0.borrow_mut().insert(key, image.clone());
            image
        })
    }
}

/// A module with its image, once it was needed.
struct Loaded {
    module: Module,
    image: OnceCell<Rc<Image>>,
    /// An address in it was asked for since [`Symbols::notes`] last told.
    needed: Cell<bool>,
}

/// An address in a module.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) module: &'a Module,
    pub(super) image: &'a Image,
    /// The address as the module's symbol table states it.
    pub(super) stated: u64,
}

impl Symbols {
    /// The address space of a process: its modules, the other mappings, and the stacks of its threads.
    pub fn new(mut modules: Vec<Module>, mappings: Vec<Mapping>, stacks: Vec<ThreadStack>) -> Self {
        modules.sort_by_key(|module| module.low);
        let modules = modules
            .into_iter()
            .map(|module| Loaded { module, image: OnceCell::new(), needed: Cell::new(false) })
            .collect();
        let directories = vec![PathBuf::from(DEBUG_DIRECTORY)];
        Self {
            modules,
            mappings,
            stacks,
            directories,
            images: Images::default(),
            descriptions: Vec::new(),
            generated: OnceCell::new(),
            generated_needed: Cell::new(false),
        }
    }

    /// Names code that the process made by what its runtime wrote about it.
    pub fn describing(mut self, descriptions: Vec<Description>) -> Self {
        self.descriptions = descriptions;
        self
    }

    /// Code that the process made.
    pub(super) fn generated(&self) -> &GeneratedCode {
        self.generated_needed.set(true);
        let read = || {
            let (code, malformed) = GeneratedCode::read(&self.descriptions);
            let note = |(module, error): (PathBuf, Malformed)| Note {
                low: 0,
                module,
                problem: Problem::Description(error.to_string()),
            };
            (code, malformed.into_iter().map(note).collect())
        };
        &self.generated.get_or_init(read).0
    }

    /// Shares what is read with all who were given the same images. They must look for debug files in the same places.
    pub fn sharing(mut self, images: &Images) -> Self {
        self.images = images.clone();
        self
    }

    /// Looks for separate debug files below `directories` instead of `/usr/lib/debug`.
    pub fn with_debug_directories(mut self, directories: Vec<PathBuf>) -> Self {
        self.directories = directories;
        self
    }

    /// The problems of the modules that were needed since the last call. The kernel's own (`linux-vdso.so.1`) has no
    /// file, which is no problem.
    pub fn notes(&self) -> Vec<Note> {
        let needed = self.modules.iter().filter(|loaded| loaded.needed.take());
        let of_files = needed.filter(|loaded| loaded.module.path.is_absolute());
        let problems = of_files.filter_map(|loaded| {
            let problem = loaded.image.get()?.problem.clone()?;
            Some(Note { low: loaded.module.low, module: loaded.module.path.clone(), problem })
        });
        let generated = self.generated.get().filter(|_| self.generated_needed.take());
        problems.chain(generated.iter().flat_map(|(_, notes)| notes).cloned()).collect()
    }

    /// All modules, in order of address.
    pub(super) fn modules(&self) -> impl Iterator<Item = &Module> {
        self.modules.iter().map(|loaded| &loaded.module)
    }

    /// The module that holds an address.
    pub(super) fn place(&self, address: u64) -> Option<Place<'_>> {
        let next = self.modules.partition_point(|loaded| loaded.module.low <= address);
        let loaded = self.modules.get(next.checked_sub(1)?)?;
        if address >= loaded.module.high {
            return None;
        }
        loaded.needed.set(true);
        let image = loaded.image.get_or_init(|| self.images.get(&loaded.module, &self.directories));
        let stated = address.wrapping_sub(loaded.module.bias);
        Some(Place { module: &loaded.module, image, stated })
    }

    /// The mapping that holds an address.
    pub(super) fn mapping(&self, address: u64) -> Option<&Mapping> {
        self.mappings.iter().find(|mapping| (mapping.low..mapping.high).contains(&address))
    }
}
