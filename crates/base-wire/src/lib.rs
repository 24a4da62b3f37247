//! What agent and host share in memory: layout and version.
