//! `carom profile`: several questions in one run.

mod args;

use carom_base_sys::{
    machine::Machine,
    probe::{Facts, Probes, choose_burst_delivery},
};
use carom_collect::{Engine, ReuseMethod, ReuseSettings, Settings, ShareSettings, WatchChoice};
use carom_store::Recording;
use carom_study::{Study, count::CountStudy, recording::Recordings};
use carom_view::{RunInfo, model::Report};

pub use args::{ProfileArgs, ProfileLayout};

use self::args::Asked;
use crate::{
    failure::{End, Failure},
    options::{BOARD_SLOTS, MAX_STEPS, REGISTERS, REUSE_SLOTS, SHARE_PERIOD_NS},
    output::Layout,
    question::{Question, Recorder},
    record::{self, Job},
    reuse::Groups,
    signals::delivery,
    translatable::translatable,
};

impl Recorder for ProfileArgs {
    fn run(&self) -> Result<End, Failure> {
        let asked = self.questions();
        if asked.is_empty() {
            return Err(Failure::new("--only and --skip leave no question to ask"));
        }
        let peers = self.reuse.peers()?;
        let probes = Probes::judge(&Facts::to_choose());
        translatable(&self.program, &probes).map_err(|cause| {
            Failure::new(format!(
                "{cause}; without translated code one run answers one question: use carom share or carom reuse"
            ))
        })?;
        let parts: Vec<&dyn Question> = vec![&self.share, &self.count, &self.reuse];
        let mut layout = Layout::default();
        parts.iter().for_each(|part| part.lay_out(&mut layout));
        let settings = settings(self, &asked, &probes);
        let reason = "answers several questions in one run";
        record::run(Job {
            parts,
            layout,
            peers,
            time_memory: self.reuse.advise.is_some(),
            ..Job::new(&ProfileLayout {}, &self.program, &self.report, settings, reason)
        })
    }
}

impl Question for ProfileLayout {
    fn command(&self) -> &'static str {
        "profile"
    }

    fn report(&self, recordings: &[Recording], parts: &[&dyn Question]) -> Report {
        let asked = |question: &str| recordings.iter().any(|recording| recording.manifest().asks(question));
        let of = |question: &str| {
            let part = parts.iter().find(|part| part.command() == question && asked(question))?;
            Some(part.report(recordings, &[]))
        };
        let (share, reuse) = (of("share"), of("reuse"));
        let mut all = Recordings::new(recordings);
        let counts = asked("count").then(|| CountStudy.study(&mut all));
        carom_view::profile::report(&RunInfo::of(&all.manifests()), share, reuse, counts.as_ref())
    }

    fn lay_out(&self, _: &mut Layout) {}
}

fn settings(args: &ProfileArgs, asked: &[Asked], probes: &Probes) -> Settings {
    let signals = choose_burst_delivery(probes);
    let registers = signals.as_ref().map_or(0, |choice| choice.watchpoints).min(REGISTERS);
    let period = if asked == [Asked::Count] { 0 } else { args.period };
    let share = asked.contains(&Asked::Share);
    // Translated code watches for reuse; for sharing, registers cost less where they are available.
    let watch = if registers > 0 { WatchChoice::Registers } else { WatchChoice::Software };
    Settings {
        load_period: period,
        store_period: period,
        period_ns: if share { SHARE_PERIOD_NS } else { 0 },
        budget_ppm: (args.budget * 1e4).round() as u32,
        max_steps: MAX_STEPS,
        watchpoints: if share { registers } else { 0 },
        delivery: delivery(signals.ok().map(|choice| choice.delivery)),
        objects: args.objects.then_some(0),
        window: args.program.window.window(),
        share: share.then_some(ShareSettings { watch, board_slots: BOARD_SLOTS }),
        reuse: asked.contains(&Asked::Reuse).then(|| ReuseSettings {
            method: ReuseMethod::Sampled { watch: WatchChoice::Software, slots: REUSE_SLOTS },
            domains: args
                .cache_domains
                .clone()
                .unwrap_or_else(|| Groups::of_machine(&Machine::here().caches))
                .domains(),
        }),
        ..Settings::of(Engine::Translate)
    }
}
