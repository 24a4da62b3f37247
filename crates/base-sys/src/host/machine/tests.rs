//! Machines made of files.

use super::*;

struct Tree(std::path::PathBuf);

impl Tree {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let path = std::env::temp_dir().join(format!("carom-machine-{}-{name}", std::process::id()));
        for (file, content) in files {
            let file = path.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, content).unwrap();
        }
        Self(path)
    }

    fn read(&self) -> Machine {
        Machine::read(&Root::at(&self.0), Some(*b"KVMKVMKVM\0\0\0"))
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_cloud_guest_in_a_container() {
    let machine = Tree::new(
        "cloud",
        &[
            ("proc/sys/kernel/osrelease", "5.15.0-91-generic\n"),
            ("proc/cpuinfo", "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: Xeon\nflags\t\t: fpu hypervisor\n"),
            ("sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
            ("sys/class/dmi/id/product_name", "m5.large\n"),
            ("proc/self/cgroup", "0::/kubepods/burstable/pod1\n"),
            ("proc/self/status", "Uid:\t0\t1000\t0\t0\nTracerPid:\t77\nCapEff:\t0000004000000000\nSeccomp:\t2\n"),
            ("proc/1/status", "Name:\tsh\nSeccomp:\t2\n"),
            ("proc/self/uid_map", "         0     100000      65536\n"),
            ("proc/self/limits", "Max open files            1024                 4096                 files     \n"),
            ("proc/sys/kernel/perf_event_paranoid", "4\n"),
            ("proc/sys/kernel/nmi_watchdog", "1\n"),
            ("proc/sys/kernel/yama/ptrace_scope", "1\n"),
            ("sys/kernel/security/lockdown", "none [integrity] confidentiality\n"),
        ],
    )
    .read();
    assert_eq!(machine.kernel.version, Some((5, 15)));
    assert_eq!((machine.cpu.family, machine.cpu.model), (Some(6), Some(85)));
    assert_eq!(machine.hypervisor.unwrap().to_string(), "KVM (Amazon EC2 m5.large)");
    assert_eq!(machine.container, Some(Container::Kubernetes));
    assert_eq!(machine.privilege.uid, 1000, "the effective id is the second");
    assert_eq!(machine.privilege.tracer, 77);
    assert_eq!(machine.privilege.seccomp, Seccomp::Filter);
    assert_eq!(machine.privilege.first_process_filtered, Some(true));
    assert_eq!(machine.privilege.descriptors, Some(4096));
    // Bit 38 is CAP_PERFMON, but only inside the namespace that the map shows.
    assert!(!machine.privilege.perfmon());
    assert_eq!(machine.settings.perf_event_paranoid, Some(4));
    assert_eq!(machine.settings.nmi_watchdog, Some(true));
    assert_eq!(machine.settings.ptrace_scope, Some(1));
    assert_eq!(machine.settings.lockdown.as_deref(), Some("integrity"));
}

#[test]
fn capabilities_count_in_the_initial_namespace() {
    let files = [
        ("proc/self/status", "CapEff:\t0000004000080000\n"),
        ("proc/self/uid_map", "         0          0 4294967295\n"),
    ];
    let privilege = Tree::new("caps", &files).read().privilege;
    // 1 << 38 is PERFMON, 1 << 19 is SYS_PTRACE; 1 << 21, SYS_ADMIN, is absent.
    assert!(privilege.perfmon() && privilege.sys_ptrace() && !privilege.sys_admin());
}

#[test]
fn an_empty_tree_is_a_machine_of_defaults() {
    let machine = Tree::new("empty", &[]).read();
    assert_eq!(machine, Machine { privilege: machine.privilege.clone(), ..Machine::default() });
    assert!(machine.privilege.initial_user_namespace, "kernels without user namespaces have no uid_map");
}

#[test]
fn topology_names_core_package_and_node() {
    let tree = Tree::new(
        "topology",
        &[
            ("sys/devices/system/cpu/online", "0,2\n"),
            ("sys/devices/system/cpu/cpu0/topology/core_id", "0\n"),
            ("sys/devices/system/cpu/cpu0/topology/physical_package_id", "-1\n"),
            ("sys/devices/system/cpu/cpu0/node0/x", ""),
            ("sys/devices/system/cpu/cpu2/topology/core_id", "5\n"),
            ("sys/devices/system/cpu/cpu2/topology/physical_package_id", "1\n"),
            ("sys/devices/system/cpu/cpu2/node1/x", ""),
        ],
    );
    let cpu = |cpu, core, package, node| CpuInfo { cpu: carom_base::Cpu(cpu), core, package, node };
    assert_eq!(tree.read().cpus, [cpu(0, 0, 0, 0), cpu(2, 5, 1, 1)]);
}

#[test]
fn pmus_are_found_by_their_names() {
    let found = |name, files: &[(&str, &str)]| Tree::new(name, files).read().pmus;
    let device = "sys/bus/event_source/devices";
    let file = |path: &str| format!("{device}/{path}");
    let intel = found("intel", &[(&file("cpu_core/events/mem-loads"), ""), (&file("cpu_atom/type"), "10")]);
    assert_eq!(intel.core, ["cpu_atom", "cpu_core"]);
    assert_eq!(intel.memory, Some(MemorySampler::MemLoads));
    let amd = found("amd", &[(&file("cpu/type"), "4"), (&file("ibs_op/type"), "9")]);
    assert_eq!(amd.memory, Some(MemorySampler::IbsOp));
    let guest = found("guest", &[(&file("software/type"), "1"), (&file("msr/type"), "8")]);
    assert_eq!(guest, Pmus::default());
}

#[test]
fn containers_and_xen_are_recognised() {
    let container = |name, file| Tree::new(name, &[(file, "x")]).read().container;
    assert_eq!(container("docker", ".dockerenv"), Some(Container::Docker));
    assert_eq!(container("podman", "run/.containerenv"), Some(Container::Podman));
    assert_eq!(container("none", "etc/hostname"), None);
    let xen = Tree::new("xen", &[("sys/hypervisor/type", "xen\n")]).read();
    assert_eq!(xen.hypervisor.map(|h| h.kind), Some(HypervisorKind::Xen), "even without the CPU's flag");
}

#[test]
fn only_a_name_of_its_own_tells_a_host_from_others() {
    let host = |tree, name| Tree::new(tree, &[("proc/sys/kernel/hostname", name)]).read().hostname;
    assert_eq!(host("named", "node17\n").as_deref(), Some("node17"));
    assert_eq!(host("nameless", "(none)\n"), None);
    assert_eq!(host("localhost", "localhost\n"), None);
}

#[test]
fn this_machine_can_be_read() {
    let machine = Machine::here();
    assert!(machine.kernel.version.is_some());
    assert!(!machine.cpus.is_empty());
    assert!(Space::of(std::path::Path::new("/proc")).is_ok());
}

#[test]
fn two_cores_with_a_cache_each_and_one_in_common() {
    let cache = |cpu: u32, index: u32, level: &str, kind: &str, size: &str, cpus: &str| {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}/cache/index{index}");
        [
            ("level", level),
            ("type", kind),
            ("size", size),
            ("ways_of_associativity", "8"),
            ("shared_cpu_list", cpus),
        ]
        .map(|(name, content)| (format!("{folder}/{name}"), format!("{content}\n")))
    };
    let mut files = vec![("sys/devices/system/cpu/online".to_owned(), "0-1\n".to_owned())];
    files.extend([0, 1].into_iter().flat_map(|cpu| cache(cpu, 0, "1", "Data", "32K", &cpu.to_string())));
    files.extend(
        [0, 1].into_iter().flat_map(|cpu| cache(cpu, 1, "1", "Instruction", "64K", &cpu.to_string())),
    );
    files.extend([0, 1].into_iter().flat_map(|cpu| cache(cpu, 3, "3", "Unified", "16384K", "0-1")));
    // Firmware may name a kind that nobody knows.
    files.extend(cache(0, 4, "4", "Mystery", "1K", "0"));
    let files: Vec<_> = files.iter().map(|(name, content)| (name.as_str(), content.as_str())).collect();
    let caches = Tree::new("caches", &files).read().caches;
    let found: Vec<_> = caches.iter().map(|c| (c.level, c.kind.name(), c.bytes, c.cpus.as_slice())).collect();
    assert_eq!(
        found,
        [
            (1, "data", 32 << 10, &[0][..]),
            (1, "data", 32 << 10, &[1]),
            (1, "instruction", 64 << 10, &[0]),
            (1, "instruction", 64 << 10, &[1]),
            (3, "unified", 16 << 20, &[0, 1]),
        ]
    );
    assert_eq!((caches[0].line_bytes, caches[0].ways, caches[0].sets), (64, 8, 0));
}

#[test]
fn events_of_the_kernel_have_their_terms_and_units() {
    let folder = "sys/bus/event_source/devices/power/events";
    let files =
        [("energy-pkg", "event=0x02\n"), ("energy-pkg.unit", "Joules\n"), ("energy-pkg.scale", "2.3e-10\n")];
    let files = files.map(|(name, text)| (format!("{folder}/{name}"), text));
    let tree = Tree::new("kernel-events", &files.each_ref().map(|(name, text)| (name.as_str(), *text)));
    let expected = KernelPmuEvent {
        name: "power/energy-pkg/".into(),
        terms: "event=0x02".into(),
        unit: Some("Joules".into()),
    };
    assert_eq!(kernel_events(&Root::at(&tree.0)), [expected]);
}
