mod kernel;
mod names;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use crate::host::machine::Root;

/// A tree of sysfs, as a server of two sockets may have it.
struct Tree(PathBuf);

/// A file below `sys/bus/event_source/devices`, and what is in it. The texts are those of Linux 6.1.
const FILES: [(&str, &str); 41] = [
    ("cpu/type", "4"),
    ("cpu/format/event", "config:0-7"),
    ("cpu/format/umask", "config:8-15"),
    ("cpu/format/edge", "config:18"),
    ("cpu/format/inv", "config:23"),
    ("cpu/format/cmask", "config:24-31"),
    ("cpu/format/offcore_rsp", "config1:0-63"),
    ("cpu/format/ldlat", "config1:0-15"),
    ("cpu/events/instructions", "event=0xc0"),
    ("cpu/events/cache-misses", "event=0x2e,umask=0x41"),
    ("cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3"),
    ("amd/type", "40"),
    ("amd/format/event", "config:0-7,32-35"),
    ("amd/format/umask", "config:8-15"),
    ("armv8_pmuv3_0/type", "41"),
    ("armv8_pmuv3_0/format/event", "config:0-15"),
    ("armv8_pmuv3_0/events/bus_access", "event=0x0019"),
    ("uncore_imc_0/type", "12"),
    ("uncore_imc_0/cpumask", "0,28"),
    ("uncore_imc_0/format/event", "config:0-7"),
    ("uncore_imc_0/format/umask", "config:8-15"),
    ("uncore_imc_0/events/cas_count_read", "event=0x04,umask=0x03"),
    ("uncore_imc_0/events/cas_count_read.scale", "6.103515625e-5"),
    ("uncore_imc_0/events/cas_count_read.unit", "MiB"),
    ("uncore_imc_1/type", "13"),
    ("uncore_imc_1/cpumask", "0,28"),
    ("uncore_imc_1/format/event", "config:0-7"),
    ("uncore_imc_1/format/umask", "config:8-15"),
    ("uncore_imc_1/events/cas_count_read", "event=0x04,umask=0x03"),
    ("uncore_imc_1/events/cas_count_read.scale", "6.103515625e-5"),
    ("uncore_imc_1/events/cas_count_read.unit", "MiB"),
    ("power/type", "9"),
    ("power/cpumask", "0"),
    ("power/format/event", "config:0-7"),
    ("power/events/energy-pkg", "event=0x02"),
    ("power/events/energy-pkg.scale", "2.3283064365386962890625e-10"),
    ("power/events/energy-pkg.unit", "Joules"),
    ("cqm/type", "14"),
    ("cqm/format/event", "config:0-7"),
    ("cqm/events/occupancy", "event=0x01,core=?"),
    ("cqm/format/core", "config:8-11"),
];

impl Tree {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let tree = Self(std::env::temp_dir().join(format!("carom-pmus-{}-{number}", std::process::id())));
        FILES.iter().for_each(|(file, text)| tree.write(file, text));
        tree
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.0.join("sys/bus/event_source/devices").join(file);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    fn root(&self) -> Root {
        Root::at(&self.0)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
