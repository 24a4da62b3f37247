//! Names for addresses, checked on small programs that are compiled here: expected addresses come from `nm`,
//! expected layouts from the language's rules, expected inlining from binutils.

mod c;
mod cpp;
mod files;
mod heap;
mod hostile;
mod inlining;
mod recorded;
mod rust;
mod toolchain;
