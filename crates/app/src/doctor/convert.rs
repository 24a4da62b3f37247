//! From facts to the serialised report.

use carom_base_sys::{
    machine::{Seccomp, ShadowStack},
    probe::{
        BurstChoice, DeliveryKind, Facts, Finding, Probes, Remedy, Support, choose_burst_delivery,
        why_no_watchpoints,
    },
};

use super::model::{self, Answer, Carom, Choice, Cpu, Delivery, Engine, Facility, Machine, Report};

/// Version of the JSON contract.
const SCHEMA: u32 = 1;

impl Report {
    /// What follows from the facts.
    pub fn new(facts: &Facts) -> Self {
        let probes = Probes::judge(facts);
        let choice = choose_burst_delivery(&probes);
        Self {
            carom: Carom { version: env!("CARGO_PKG_VERSION").into(), schema: SCHEMA },
            command: "doctor".into(),
            verdict: verdict(&probes, &choice),
            engine: chosen(&probes, &choice),
            engines: vec![pmu(&probes), translate(&probes), burst(&probes, &choice)],
            facilities: probes.all().map(facility).collect(),
            machine: machine(facts),
        }
    }
}

fn verdict(probes: &Probes, choice: &Result<BurstChoice, String>) -> String {
    const CAN: &str = "carom can profile programs here. --engine auto takes";
    match choice {
        _ if probes.translate == Support::Yes => {
            let watch = match why_no_watchpoints(probes) {
                Some(cause) => format!("lines are watched in software, as {cause}"),
                None => "lines are watched by debug registers".into(),
            };
            format!("{CAN} translate, whose samples stand for accesses; {watch}.{}", better(probes))
        }
        Ok(choice) => {
            let taken = format!("{CAN} {}.", choice.describe());
            match choice.delivery {
                DeliveryKind::Sigtrap => taken,
                kind => format!("{taken} The price: {}.{}", kind.costs(probes.tick_hz), better(probes)),
            }
        }
        Err(cause) if unknown(probes) => {
            format!("carom cannot tell whether it can profile programs here: {cause}.")
        }
        Err(cause) => format!("carom cannot profile programs here: {cause}."),
    }
}

/// The command that would allow perf events, as a sentence of its own; empty where no single command does.
fn better(probes: &Probes) -> String {
    match &probes.perf.support {
        Support::No { remedy: Some(Remedy { text, command: Some(command) }), .. } => {
            format!(" To lift this: `{command}` ({text}).")
        }
        _ => String::new(),
    }
}

/// Whether some way of sampling could not be tried.
fn unknown(probes: &Probes) -> bool {
    probes.timers.iter().any(|timer| answer(&timer.support) == Answer::Unknown)
}

/// What `--engine auto` takes.
fn chosen(probes: &Probes, choice: &Result<BurstChoice, String>) -> Option<Choice> {
    let watchpoints = choice.as_ref().map_or(0, |choice| choice.watchpoints);
    if probes.translate == Support::Yes {
        return Some(Choice {
            name: "translate".into(),
            delivery: "inline".into(),
            watchpoints,
            reason: "code can be translated".into(),
            costs: "samples stand for accesses; the translated code itself takes longer, by how much depends on the \
                    program (docs/benchmarks.md)"
                .into(),
        });
    }
    let choice = choice.as_ref().ok()?;
    Some(Choice {
        name: "burst".into(),
        delivery: choice.delivery.name().into(),
        watchpoints,
        reason: choice.reason.clone(),
        costs: choice.delivery.costs(probes.tick_hz),
    })
}

fn pmu(probes: &Probes) -> Engine {
    let sampling = &probes.memory_sampling;
    let machine = match probes.counters.works() {
        true => sampling,
        false => &probes.counters,
    };
    let could = match machine.cause() {
        Some(cause) => format!("this machine: {cause}"),
        None => "this machine could run it".into(),
    };
    Engine {
        name: "pmu".into(),
        in_this_version: false,
        machine: answer(&machine.support),
        text: format!("not in this version; {could}"),
        deliveries: Vec::new(),
    }
}

fn translate(probes: &Probes) -> Engine {
    let text = match &probes.translate {
        Support::Yes => "used by `carom count`, `carom reuse` and `carom share`".into(),
        Support::No { cause, .. } | Support::Unknown { cause } => {
            format!("{cause}; `carom count` and `carom reuse --exact` need this engine, others take burst")
        }
    };
    Engine {
        name: "translate".into(),
        in_this_version: true,
        machine: answer(&probes.translate),
        text,
        deliveries: Vec::new(),
    }
}

fn burst(probes: &Probes, choice: &Result<BurstChoice, String>) -> Engine {
    let (machine, text) = match choice {
        Ok(BurstChoice { delivery, watchpoints, .. }) => {
            let watch = match watchpoints {
                0 => "no watchpoints".into(),
                1 => "1 watchpoint per thread".into(),
                n => format!("{n} watchpoints per thread"),
            };
            (Answer::Yes, format!("samples by {}, {watch}", delivery.words()))
        }
        Err(cause) if unknown(probes) => (Answer::Unknown, cause.clone()),
        Err(cause) => (Answer::No, cause.clone()),
    };
    let delivery = |kind: DeliveryKind| Delivery {
        name: kind.name().into(),
        support: answer(&probes.timer(kind).support),
        cause: probes.timer(kind).cause().map(str::to_owned),
        costs: kind.costs(probes.tick_hz),
    };
    Engine {
        name: "burst".into(),
        in_this_version: true,
        machine,
        text,
        deliveries: DeliveryKind::ALL.map(delivery).into(),
    }
}

fn answer(support: &Support) -> Answer {
    match support {
        Support::Yes => Answer::Yes,
        Support::No { .. } => Answer::No,
        Support::Unknown { .. } => Answer::Unknown,
    }
}

fn facility(finding: &Finding) -> Facility {
    let remedy = match &finding.support {
        Support::No { remedy: Some(remedy), .. } => {
            Some(model::Remedy { text: remedy.text.clone(), command: remedy.command.clone() })
        }
        _ => None,
    };
    Facility {
        id: finding.id.into(),
        title: finding.title.into(),
        support: answer(&finding.support),
        cause: finding.cause().map(str::to_owned),
        remedy,
        note: finding.note.clone(),
    }
}

fn machine(facts: &Facts) -> Machine {
    let Facts { machine, tried } = facts;
    let settings = &machine.settings;
    let place = |c: &carom_base_sys::machine::CpuInfo| Cpu {
        cpu: c.cpu.0,
        core: c.core,
        package: c.package,
        node: c.node,
    };
    Machine {
        kernel: machine.kernel.release.clone(),
        tick_hz: machine.tick_hz,
        cpu: machine.cpu.name.clone(),
        cpu_vendor: machine.cpu.vendor.clone(),
        cpu_family: machine.cpu.family,
        cpu_model: machine.cpu.model,
        shadow_stack: match machine.cpu.shadow_stack {
            ShadowStack::Absent => "absent",
            ShadowStack::Available => "available",
            ShadowStack::Active => "active",
        }
        .into(),
        cpus: machine.cpus.iter().map(place).collect(),
        hypervisor: machine.hypervisor.as_ref().map(ToString::to_string),
        container: machine.container.map(|container| container.name().to_owned()),
        uid: machine.privilege.uid,
        perfmon: machine.privilege.perfmon(),
        seccomp: machine.privilege.seccomp != Seccomp::Off,
        tracer: Some(machine.privilege.tracer).filter(|&tracer| tracer != 0),
        perf_event_paranoid: settings.perf_event_paranoid,
        perf_event_max_sample_rate: settings.max_sample_rate,
        nmi_watchdog: settings.nmi_watchdog,
        lockdown: settings.lockdown.clone(),
        ptrace_scope: settings.ptrace_scope,
        directory_free_bytes: tried.directory.ok().map(|space| space.free),
        shared_memory_bytes: tried.shared_memory.ok().map(|space| space.total),
    }
}
