//! `carom profile`: several questions in one run.

mod args;

use carom_base_sys::probe::{Facts, Probes, choose_burst_delivery};
use carom_collect::{Engine, Settings};
use carom_study::recording::Recordings;
use carom_view::{RunInfo, model::Report};

pub use args::ProfileArgs;

use crate::{
    failure::{End, Failure},
    options::{MAX_STEPS, REGISTERS},
    output::Layout,
    peers::Peers,
    question::{Means, Question, Recorder},
    record::{self, Job},
    signals::delivery,
    translatable::translatable,
};

impl Recorder for ProfileArgs {
    fn run(&self) -> Result<End, Failure> {
        let asked = self.asked();
        if asked.is_empty() {
            return Err(Failure::new("--only and --skip leave no question to ask"));
        }
        let questions = self.layouts.all();
        let together = Together(&questions);
        let probes = Probes::judge(&Facts::to_choose());
        translatable(&self.program, &probes).map_err(|cause| {
            Failure::new(format!(
                "{cause}; without translated code one run answers one question: use carom share or carom reuse"
            ))
        })?;
        let settings = settings(self, &asked, &probes);
        let reason = "answers several questions in one run";
        record::run(Job {
            asked: asked.iter().map(|&name| name.to_owned()).collect(),
            ..Job::new(&together, &self.program, &self.report, settings, reason)?
        })
    }
}

/// Of all questions, those that were asked in one run.
pub struct Together<'a>(pub &'a [&'a dyn Question]);

impl Question for Together<'_> {
    fn command(&self) -> &'static str {
        "profile"
    }

    fn report(&self, recordings: &mut Recordings<'_>) -> Report {
        let manifests = recordings.manifests();
        let asked = |question: &str| manifests.iter().any(|(manifest, _)| manifest.asks(question));
        let parts = self.0.iter().filter(|part| asked(part.command()));
        let reports = parts.map(|part| part.report(recordings)).collect();
        carom_view::profile::report(&RunInfo::of(&manifests), reports)
    }

    fn lay_out(&self, layout: &mut Layout) {
        self.0.iter().for_each(|part| part.lay_out(layout));
    }

    fn times_memory(&self) -> bool {
        self.0.iter().any(|part| part.times_memory())
    }

    fn peers(&self) -> Result<Peers, Failure> {
        self.0.iter().try_fold(Peers::default(), |all, part| Ok(all.and(part.peers()?)))
    }
}

/// What every question needs, and what those that were asked add.
fn settings(args: &ProfileArgs, asked: &[&str], probes: &Probes) -> Settings {
    let signals = choose_burst_delivery(probes);
    let means = Means {
        period: args.period,
        registers: signals.as_ref().map_or(0, |choice| choice.watchpoints).min(REGISTERS),
    };
    let mut settings = Settings {
        budget_ppm: (args.budget * 1e4).round() as u32,
        max_steps: MAX_STEPS,
        delivery: delivery(signals.ok().map(|choice| choice.delivery)),
        objects: args.objects.least(),
        window: args.program.window.window(),
        ..Settings::of(Engine::Translate)
    };
    for (name, question) in args.joins.all() {
        if asked.contains(&name) {
            question.join(&mut settings, means);
        }
    }
    settings
}
