//! Which objects of the heap are named.

use clap::Args;

/// Names of heap objects.
#[derive(Debug, Args)]
pub struct ObjectArgs {
    /// Do not follow heap allocations: objects on the heap have no names, and allocations take no more time
    #[arg(long)]
    pub no_objects: bool,
    /// Leave out allocations smaller than this
    #[arg(long, value_name = "BYTES", default_value_t = 0, conflicts_with = "no_objects")]
    pub objects_from: u64,
    /// Follow heap allocations, so that objects are named by their allocation site: the default
    #[arg(long, hide = true, conflicts_with = "no_objects")]
    pub objects: bool,
}

impl ObjectArgs {
    /// The least size of followed allocations, in bytes; `None` where none are.
    pub fn least(&self) -> Option<u64> {
        (!self.no_objects).then_some(self.objects_from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::parsed;

    #[test]
    fn objects_are_followed_unless_that_is_declined() {
        let least = |options: &[&str]| {
            #[derive(Args)]
            struct All {
                #[command(flatten)]
                objects: ObjectArgs,
                program: Vec<String>,
            }
            let all: All = parsed(options);
            assert_eq!(all.program, ["app"]);
            all.objects.least()
        };
        assert_eq!([least(&[]), least(&["--objects"])], [Some(0); 2]);
        assert_eq!(least(&["--objects-from", "64"]), Some(64));
        assert_eq!(least(&["--no-objects"]), None);
    }
}
