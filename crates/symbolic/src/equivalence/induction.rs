//! Equivalence for any number of passes of a packet, by induction.
//!
//! A packet may enter a program for PSA again at several entrances: resubmitted, recirculated or as
//! a clone. The pass that begins there gets the bytes of the packet, a port and the metadata that
//! the previous pass has left. Single passes of both programs are compared for each entrance, with
//! any values of these. What enters a program again counts as an output, with its entrance, bytes,
//! port and metadata. If each pass has the same outputs in both programs, so has any number of
//! passes, since the configuration is the same in all of them.
//!
//! This holds only if no pass changes what another one finds, so programs that write registers or
//! entries are not proved equal. The values with which a pass begins need not occur in any packet.
//! Therefore, passes that differ do not show that the programs do.

use super::layout::Sent;
use super::{Compared, Comparison, LAYOUTS, TablePairs};
use crate::execute::Entrance;
use crate::packet::MAXIMUM_LENGTH;
use crate::query::Answer;
use crate::search::{Options, SearchError};
use ir::{Architecture, Program};
use std::collections::BTreeSet;

/// A proof that programs are equal for any number of passes.
#[derive(Debug, Default)]
pub(super) struct Proof {
    /// The number of layouts of single passes that were compared.
    pub(super) layouts: usize,
    /// The packets and configurations that the proof leaves out, in words.
    pub(super) without: Vec<String>,
}

/// Compares the passes of two programs. Returns `None` if they are not proved equal.
///
/// # Errors
///
/// Returns an error if the solver's answer is wrong.
pub(super) fn prove(
    programs: [&Program; 2],
    tables: &TablePairs,
    options: &Options,
) -> Result<Option<Proof>, SearchError> {
    let are_supported = programs.iter().all(|program| program.architecture == Architecture::Psa);
    // Between the packets of a sequence, entries may expire.
    if !are_supported || options.packets != 1 {
        return Ok(None);
    }
    let mut proof = Proof::default();
    let mut compared = BTreeSet::new();
    let mut waiting = BTreeSet::from([Entrance::Received]);
    let mut may_exceed_longest = false;
    while let Some(entrance) = waiting.pop_first() {
        compared.insert(entrance);
        let comparison = match Comparison::new(programs, tables, options, Some(entrance)) {
            Ok(Ok(comparison)) => comparison,
            // What a pass gets may be unsupported although whole packets are not.
            Ok(Err(_)) | Err(SearchError::Unsupported(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut passes = Passes::default();
        if !passes.are_equal(comparison)? {
            return Ok(None);
        }
        let Passes { layouts, without, entrances, may_exceed_longest: may_exceed } = passes;
        proof.layouts += layouts;
        proof.without.extend(without);
        may_exceed_longest |= may_exceed;
        waiting.extend(entrances.difference(&compared));
    }
    if may_exceed_longest {
        proof.without.push(format!(
            "packets that become longer than {MAXIMUM_LENGTH} bytes before they enter the program \
             again"
        ));
    }
    proof.without.sort();
    proof.without.dedup();
    Ok(Some(proof))
}

/// The results for the passes that begin at one entrance.
#[derive(Debug, Default)]
struct Passes {
    layouts: usize,
    /// The configurations that are left out of the comparison, in words.
    without: Vec<String>,
    /// The entrances at which packets enter the program again.
    entrances: BTreeSet<Entrance>,
    /// Whether packets may enter the program again that are longer than those that are compared.
    may_exceed_longest: bool,
}

impl Passes {
    /// Returns whether all passes of a comparison are proved equal, and records their properties.
    fn are_equal(&mut self, mut comparison: Comparison<'_>) -> Result<bool, SearchError> {
        let change_state = comparison.executions.iter().any(|execution| execution.changes_state);
        if change_state || comparison.undecided.is_some() {
            return Ok(false);
        }
        let cuts = comparison.executions.iter().flat_map(|execution| &execution.cuts);
        let cuts: Vec<_> = cuts.map(|cut| cut.guard).collect();
        for cut in cuts {
            match comparison.solve(&[cut])? {
                Answer::Unsat(_) => {}
                Answer::Model(_) | Answer::OutOfBudget(_) => return Ok(false),
            }
        }
        self.without.append(&mut comparison.without);
        while self.layouts < LAYOUTS {
            let model = match comparison.solve(&[])? {
                Answer::Model(model) => model,
                Answer::Unsat(_) => return Ok(true),
                Answer::OutOfBudget(_) => return Ok(false),
            };
            self.layouts += 1;
            let Compared { layout, outputs, differs } = comparison.compared(model);
            let Ok(differs) = differs else { return Ok(false) };
            let wanted = [layout.conditions.as_slice(), &[differs]].concat();
            match comparison.solve(&wanted)? {
                Answer::Unsat(_) => {}
                Answer::Model(_) | Answer::OutOfBudget(_) => return Ok(false),
            }
            for sent in outputs.iter().flatten().flatten() {
                self.follow(&mut comparison, sent);
            }
            comparison.exclude(&layout.conditions);
        }
        Ok(false)
    }

    /// Records the entrance at which an output enters the program again, if it does.
    fn follow(&mut self, comparison: &mut Comparison<'_>, sent: &Sent) {
        if let Some(next) = sent.next_pass() {
            self.entrances.insert(next.entrance);
            self.may_exceed_longest |= sent.may_exceed_longest(comparison.terms());
        }
    }
}
