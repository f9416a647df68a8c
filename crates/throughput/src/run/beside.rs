//! Runs that measure several programs under the same conditions. The programs, which may be
//! variants of one program, take turns within each repetition.

use super::{Findings, Progress, Settings, Stage, Subject, case_of, in_turn, see_every_flow};
use crate::check::{self, Comparison, Expected};
use crate::method::Variant;
use crate::ports::io::Io;
use crate::traffic::Workload;
use crate::traffic::error::TrafficError;
use pipeline::{Path, Switch};
use std::sync::Arc;
use tables::Wait;

/// A program that is measured as machine code, in turn with others.
#[derive(Clone, Copy, Debug)]
pub struct Contender<'w> {
    /// The packets, and the program that processes them.
    pub workload: &'w Workload,
    /// The variant of the program that is measured.
    pub variant: Variant,
    /// The number of worker threads, each on its own core.
    pub cores: usize,
    /// The number of further workers that have joined the tables, but process no packets. If there
    /// is such a worker, a single busy worker locks entries as it would beside several busy
    /// workers.
    pub idle_workers: usize,
    /// The method by which a worker that changes an entry with two replicas waits between the two
    /// writes, so that other workers can finish reading the old value.
    pub wait: Wait,
    /// Whether the machine code of this variant has been compared with the interpreter already, for
    /// another number of entries, so that it is not compared again. Timed packets are always
    /// checked.
    pub is_compared: bool,
}

/// The quantities that are measured for each of several programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figures {
    /// Only rates are measured.
    Rates,
    /// Rates are measured, and latencies of packets that arrive at a fixed rate.
    RatesAndLatencies,
}

/// Measures several programs, which take turns, with packets in memory. The cases of the findings
/// have the order of the contenders. Uses neither the paths nor the numbers of cores in `settings`.
///
/// Contenders with the same variant of the same workload and the same wait share a switch, so that
/// a large table exists only once for all numbers of cores.
///
/// # Errors
/// Returns a [`TrafficError`] if a program cannot be loaded, the controller of the update method
/// digest cannot be started, or the run is stopped before the first repetition.
pub fn run_beside(
    contenders: &[Contender<'_>],
    figures: Figures,
    settings: &Settings,
    progress: &mut Progress<'_>,
) -> Result<Findings, TrafficError> {
    let mut learnt: Vec<(&Workload, Expected)> = Vec::new();
    let mut subjects: Vec<Subject<'_>> = Vec::new();
    for (position, contender) in contenders.iter().enumerate() {
        if !progress.step(Stage::Comparing, position, contenders.len()) {
            return Err(TrafficError::Interrupted);
        }
        let workload = contender.workload;
        if !learnt.iter().any(|(known, _)| std::ptr::eq(*known, workload)) {
            let mut step = |done, of| progress.step(Stage::Learning, done, of);
            learnt.push((workload, Expected::learn(workload, &mut step)?));
        }
        let same = contenders.iter().take(position).position(|other| shares(other, contender));
        let subject = match same.and_then(|same| subjects.get(same)) {
            Some(same) => same.with_workers(contender),
            None => subject(contender, settings)?,
        };
        subjects.push(subject);
    }
    let random = learnt.iter().map(|(_, expected)| expected.random()).sum();
    let mut findings = Findings { random_flows: random, ..Findings::new(Io::Memory) };
    let unknown = Expected::unknown();
    let expected = |subject: &Subject<'_>| {
        let known = learnt.iter().find(|(known, _)| std::ptr::eq(*known, subject.workload));
        known.map_or(&unknown, |(_, expected)| expected)
    };
    in_turn(
        &mut subjects,
        settings,
        Stage::Measuring,
        &mut findings,
        progress,
        &mut |subject, settings| subject.repeat(expected(subject), settings),
    )?;
    if figures == Figures::RatesAndLatencies {
        in_turn(
            &mut subjects,
            settings,
            Stage::Timing,
            &mut findings,
            progress,
            &mut |subject, settings| subject.open_loop(settings),
        )?;
    }
    findings.cases = subjects.into_iter().map(|subject| subject.case).collect();
    Ok(findings)
}

/// Returns whether two measured programs can use the same switch.
fn shares(one: &Contender<'_>, other: &Contender<'_>) -> bool {
    std::ptr::eq(one.workload, other.workload)
        && (one.variant, one.wait) == (other.variant, other.wait)
}

fn subject<'w>(
    contender: &Contender<'w>,
    settings: &Settings,
) -> Result<Subject<'w>, TrafficError> {
    let Contender { workload, variant, cores, idle_workers, wait, is_compared } = *contender;
    let comparison = match is_compared {
        true => Comparison::default(),
        false => check::compare(workload, variant, Path::Compiled, settings.seed)?,
    };
    let mut switch: Switch = workload.switch(variant)?;
    let case = case_of(&mut switch, Path::Compiled, cores, comparison);
    let switch = case.refused.is_none().then(|| Arc::new(switch));
    if let Some(switch) = &switch {
        see_every_flow(switch, workload, settings);
        // Each change waits for a long time, so the wait is set only after the packets that are not
        // timed.
        switch.set_wait_of_changes(wait);
    }
    Ok(Subject { case, workload, variant, idle_workers, switch })
}

impl<'w> Subject<'w> {
    /// Returns a case without results that shares the switch of this case, with the numbers of
    /// workers of `contender`.
    fn with_workers(&self, contender: &Contender<'w>) -> Self {
        let case = super::Case { cores: contender.cores, ..self.case.clone() };
        let (workload, variant) = (self.workload, self.variant);
        let (idle_workers, switch) = (contender.idle_workers, self.switch.clone());
        Self { case, workload, variant, idle_workers, switch }
    }
}
