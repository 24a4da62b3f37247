use super::{Machine, MachineError};

/// Which core a thread runs on. Threads are numbered from 0, in the order of their beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// Neighbouring threads on neighbouring cores: the first socket is filled first.
    #[default]
    Compact,
    /// Neighbouring threads on different sockets.
    Scatter,
    /// As listed, by core.
    Listed(Vec<usize>),
}

impl Placement {
    /// The core of a thread. Where there are more threads than cores (or than the list has), it begins again.
    ///
    /// # Errors
    /// The list names a core that the machine lacks.
    pub fn core(&self, thread: usize, machine: &Machine) -> Result<usize, MachineError> {
        let cores = machine.cores();
        let core = match self {
            Self::Compact => thread % cores,
            Self::Scatter => {
                let (round, socket) = (thread / machine.sockets, thread % machine.sockets);
                socket * machine.cores_per_socket + round % machine.cores_per_socket
            }
            Self::Listed(list) => list.get(thread % list.len().max(1)).copied().unwrap_or_default(),
        };
        if core < cores { Ok(core) } else { Err(MachineError::NoSuchCore { core, cores }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_threads_on_two_sockets_of_two_cores() {
        let text = "sockets = 2\ncores_per_socket = 2\nl1 = {size = 64, ways = 1}";
        let machine = Machine::parse(text).unwrap();
        let cores = |placement: Placement| -> Vec<usize> {
            (0..6).map(|thread| placement.core(thread, &machine).unwrap()).collect()
        };
        assert_eq!(cores(Placement::Compact), [0, 1, 2, 3, 0, 1]);
        assert_eq!(cores(Placement::Scatter), [0, 2, 1, 3, 0, 2]);
        assert_eq!(cores(Placement::Listed(vec![3, 1])), [3, 1, 3, 1, 3, 1]);
        let beyond = Placement::Listed(vec![4]);
        assert_eq!(beyond.core(0, &machine), Err(MachineError::NoSuchCore { core: 4, cores: 4 }));
    }
}
