//! A recording session on the host: launch the program with the agent in it, drain what the agents write, fill a
//! store.
//!
//! The host never maps memory that the program can write: it reads and writes session files like any file, and
//! treats what it finds as hostile.
#![forbid(unsafe_code)]

mod counts;
mod drain;
mod error;
mod footprint;
mod generated;
mod launch;
mod link;
mod manifest;
mod memory;
mod modules;
mod native;
mod outside;
mod processes;
mod readings;
mod record;
mod refusal;
mod reuse;
mod room;
mod runtime;
mod session;
mod target;
mod trace;
mod transfer;
mod warnings;

pub use carom_base_wire::{
    DeliveryChoice, Domains, DomainsOf, Engine, MAPPED, ReuseMethod, ReuseSettings, Settings, ShareSettings,
    Trial, WatchChoice, Window,
};
pub use error::CollectError;
pub use footprint::record_footprint;
pub use launch::Streams;
pub use link::{HOOKS, find_archive, link_flags};
pub use manifest::machine_here;
pub use native::{KernelEvents, record_natively, run_natively};
pub use record::{HandedOn, Outcome, Request, record};
pub use refusal::{Absence, Obstacle, Refusal};
pub use target::{Target, examine};
pub use trace::CodeAddress;
