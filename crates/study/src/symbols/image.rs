//! One module, read from its files.

use std::cell::{OnceCell, RefCell};
use std::path::{Path, PathBuf};

use object::Object;

use super::debug_file;
use super::dwarf::DebugInfo;
use super::elf::{self, Section, Symbol, SymbolTables};
use super::globals::{self, Global};
use super::intervals::Intervals;
use super::{Module, Problem};

/// Everything that names addresses of a module. Where files are missing or broken, parts are empty.
#[derive(Default)]
pub(super) struct Image {
    /// In order of address; empty when no file could be read.
    pub(super) sections: Vec<Section>,
    /// Functions of the symbol tables, with their mangled names.
    pub(super) functions: Intervals<String>,
    /// Functions without names.
    pub(super) unwind: Intervals<()>,
    /// Its DWARF.
    pub(super) debug: Option<DebugInfo>,
    /// What went wrong.
    pub(super) problem: Option<Problem>,
    variables: RefCell<Vec<Symbol>>,
    globals: OnceCell<Intervals<Global>>,
    thread_local_symbols: RefCell<Vec<Symbol>>,
    thread_locals: OnceCell<Intervals<Global>>,
}

impl Image {
    /// Reads the module's file and, if that has no debug information, its separate debug file.
    pub(super) fn load(module: &Module, directories: &[PathBuf]) -> Self {
        let mut image = Self::default();
        let mut tables = SymbolTables::default();
        let recorded = module.build_id.as_deref();
        let own = read_checked(&module.path, recorded);
        let parsed = own.as_deref().map_err(Clone::clone).and_then(elf::parse);
        let (build_id, link) = match &parsed {
            Ok(file) => {
                image.sections = elf::sections(file);
                image.unwind = elf::unwind_index(file);
                tables.add(file, &image.sections);
                image.debug = load_debug(&module.path, file, directories);
                (elf::build_id(file), file.gnu_debuglink().ok().flatten())
            }
            Err(problem) => {
                image.problem = Some(problem.clone());
                (module.build_id.clone(), None)
            }
        };
        if image.debug.is_none()
            && let Some((path, bytes)) =
                debug_file::find(&module.path, build_id.as_deref(), link, directories)
            && let Ok(file) = elf::parse(&bytes)
        {
            if image.sections.is_empty() {
                image.sections = elf::sections(&file);
            }
            tables.add(&file, &image.sections);
            image.debug = load_debug(&path, &file, directories);
        }
        image.functions = elf::function_index(tables.functions, &image.sections);
        image.variables = tables.variables.into();
        image.thread_local_symbols = tables.thread_locals.into();
        image
    }

    /// Variables with static storage by stated address.
    pub(super) fn globals(&self) -> &Intervals<Global> {
        self.globals
            .get_or_init(|| globals::index(self.variables.take(), &self.sections, self.debug.as_ref()))
    }

    /// Thread-local variables by their offsets among those of the module.
    pub(super) fn thread_locals(&self) -> &Intervals<Global> {
        self.thread_locals.get_or_init(|| {
            globals::thread_local_index(self.thread_local_symbols.take(), self.debug.as_ref())
        })
    }
}

/// The file's bytes, if it is still the file that was recorded.
fn read_checked(path: &Path, recorded: Option<&str>) -> Result<Vec<u8>, Problem> {
    let bytes = elf::read_file(path).map_err(|error| Problem::Unreadable(error.to_string()))?;
    let found = elf::build_id(&elf::parse(&bytes)?);
    match recorded {
        Some(recorded) if found.as_deref() != Some(recorded) => {
            Err(Problem::Changed { recorded: recorded.to_owned(), found })
        }
        _ => Ok(bytes),
    }
}

fn load_debug(path: &Path, file: &object::File<'_>, directories: &[PathBuf]) -> Option<DebugInfo> {
    let supplementary = debug_file::find_supplementary(path, file, directories);
    let supplementary = supplementary.as_deref().and_then(|bytes| elf::parse(bytes).ok());
    DebugInfo::load(file, supplementary.as_ref())
}
