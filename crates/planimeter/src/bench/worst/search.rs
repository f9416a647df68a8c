//! Searches for packets of two kinds: packets with whose cycles the costs of work are fitted, and
//! packets that are predicted to cost most.

use std::num::NonZero;
use std::thread::available_parallelism;

use ir::with_large_stack;
use symbolic::Ends;
use symbolic::goals::Goal;
use symbolic::search::{Costliest, CostlyWish, Options, SearchError, costliest_of_each, search};

use super::Task;
use super::costs::{Weights, weights_of_kind};
use super::work::{Kind, Packet, Work};
use crate::failure::Failure;
use crate::interrupt;

/// The number of random seeds for which tests are generated. Costs are fitted to the packets of all
/// of these tests.
const SEEDS: u64 = 3;
/// The lengths in bytes of the packets that have as much work of one kind as possible. They lie
/// between the lengths of the packets that are predicted.
const LENGTHS: [u32; 4] = [96, 320, 768, 1_200];
/// The number of solver conflicts after which one step of the search for the costliest path is
/// given up. The result may then not be the costliest path, and the proven bound is larger.
const CONFLICTS: u64 = 5_000;

/// The packets of a program to which costs are fitted.
pub(super) struct Generated {
    /// The goals of the program, which are the parts that a packet can reach.
    pub(super) goals: Vec<Goal>,
    /// The packets, no two of them equal.
    pub(super) packets: Vec<Packet>,
}

impl Task<'_> {
    /// Returns packets to which costs can be fitted: for each goal of the program, several packets
    /// that reach it with different values, and for each kind of work, packets that need as much of
    /// it as possible. The latter do not have the lengths in `lengths`.
    pub(super) fn generated(&self, work: &Work, lengths: &[u32]) -> Result<Generated, Failure> {
        let mut generated = Generated { goals: Vec::new(), packets: Vec::new() };
        for seed in 0..SEEDS {
            let options = self.options(seed);
            let mut goes_on = |progress: symbolic::search::Progress| {
                self.step("generating packets", progress.decided, progress.goals).is_ok()
            };
            let report = with_large_stack(|| search(self.program, &options, &mut goes_on));
            let report =
                report.map_err(Failure::run)?.map_err(|error| failure(self.name, error))?;
            self.step("generating packets", 1, 1)?;
            let reached = report.reached.into_iter().zip(report.times);
            for (test, (reached, times)) in report.tests.into_iter().zip(reached) {
                generated.add(Packet { test, reached, times });
            }
            generated.goals = report.goals.into_iter().map(|(goal, _)| goal).collect();
        }
        self.step("generating packets with most work of a kind", 0, 1)?;
        let lengths: Vec<u32> =
            LENGTHS.into_iter().filter(|length| !lengths.contains(length)).collect();
        let weights: Vec<Weights> =
            Kind::ALL.into_iter().filter_map(|kind| weights_of_kind(work, kind)).collect();
        // Two lengths for each kind, so that the length does not always come with the same work.
        let pairs: Vec<[u32; 2]> = (0..weights.len())
            .map(|number| {
                let at = |place: usize| lengths.get(place % lengths.len().max(1)).copied();
                [at(number).unwrap_or(LENGTHS[0]), at(number + 2).unwrap_or(LENGTHS[0])]
            })
            .collect();
        let wishes = weights.iter().zip(&pairs).map(|(weights, lengths)| weights.wish(lengths, 1));
        let wishes: Vec<CostlyWish<'_>> = wishes.collect();
        for found in self.solved(&wishes, SEEDS)? {
            for one in found.paths {
                let (test, reached, times) = (one.test, one.reached, one.times);
                generated.add(Packet { test, reached, times });
            }
        }
        Ok(generated)
    }

    /// Searches for the `count` costliest paths of packets of each length. The values in their
    /// packets differ from those of generated packets.
    pub(super) fn costliest(
        &self,
        weights: &Weights,
        lengths: &[u32],
        count: usize,
    ) -> Result<Costliest, Failure> {
        self.step("searching the costliest paths", 0, 1)?;
        let found = self.solved(&[weights.wish(lengths, count)], SEEDS + 1)?;
        Ok(found.into_iter().next().unwrap_or_default())
    }

    fn solved(&self, wishes: &[CostlyWish<'_>], seed: u64) -> Result<Vec<Costliest>, Failure> {
        let options = Options { conflicts: CONFLICTS, ..self.options(seed) };
        let found = with_large_stack(|| costliest_of_each(self.program, wishes, &options));
        found.map_err(Failure::run)?.map_err(|error| failure(self.name, error))
    }

    fn options(&self, seed: u64) -> Options {
        let seed = self.settings.seed.wrapping_add(seed);
        let threads = available_parallelism().map_or(1, NonZero::get);
        let ends = Ends { at: None, asked: interrupt::asked() };
        Options { seed, threads, ends, ..Options::default() }
    }
}

impl Weights {
    /// Returns a request to the solver for the `count` costliest paths of each length.
    fn wish<'w>(&'w self, lengths: &'w [u32], count: usize) -> CostlyWish<'w> {
        let Self { goals, each_time, per_output } = self;
        let (each_time, per_output) = (*each_time, *per_output);
        CostlyWish { weights: goals, each_time, per_output, lengths, count, fixed: &[] }
    }
}

impl Generated {
    /// Adds a packet, unless there is an equal one.
    fn add(&mut self, packet: Packet) {
        if !self.packets.iter().any(|known| known.is_same(&packet)) {
            self.packets.push(packet);
        }
    }
}

/// Converts an error of the search to the failure of the command. `name` is the name of the
/// program.
pub(crate) fn failure(name: &str, error: SearchError) -> Failure {
    match error {
        SearchError::Unsupported(what) => Failure::input(format!("{name}: {what}")),
        SearchError::Query(error) => Failure::run(format!("{name}: {error}")),
        SearchError::Thread(_) => Failure::run(error),
        SearchError::Ended => Failure::Interrupted,
    }
}
