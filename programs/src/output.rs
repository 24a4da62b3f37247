//! The one JSON object that a workload prints.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::options::Common;
use crate::runner::Finished;

/// The report of a workload about its own run.
#[derive(Serialize)]
pub struct Output {
    /// The subcommand.
    pub workload: &'static str,
    /// Its parameters, and the CPUs that it used.
    pub parameters: Value,
    /// What follows from the parameters alone.
    pub expected: Value,
    /// What the threads counted.
    pub measured: Value,
    /// Whatever a reader must know to use the numbers.
    pub notes: Vec<String>,
}

impl Output {
    /// Prints the object on one line of stdout.
    ///
    /// # Errors
    /// Where stdout cannot be written.
    pub fn print(&self) -> Result<(), Error> {
        let mut out = io::stdout().lock();
        serde_json::to_writer(&mut out, self).map_err(io::Error::from)?;
        writeln!(out)?;
        Ok(())
    }
}

/// The parameters that all workloads have, joined with those of one: `own` is an object.
pub fn parameters<T>(common: &Common, finished: &Finished<T>, own: Value) -> Value {
    let mut all = Map::new();
    all.insert("threads".to_owned(), json!(common.threads));
    all.insert("iterations".to_owned(), json!(common.iterations));
    let seconds = common.iterations.is_none().then(|| common.seconds.unwrap_or(1.0));
    all.insert("seconds".to_owned(), json!(seconds));
    all.insert("pinning".to_owned(), json!(common.pinning));
    all.insert("cpus".to_owned(), json!(finished.cpus));
    all.insert("seed".to_owned(), json!(common.seed));
    if let Value::Object(own) = own {
        all.extend(own);
    }
    Value::Object(all)
}
