//! The plan of a measurement: turns lists of designs, sizes and cores into the cases that are
//! measured.
//!
//! No combination is omitted silently. A combination that a design does not support is in the plan
//! with the reason.

use std::collections::HashSet;
use std::fmt;

use crate::design::{
    Design, EntryLock, Requirements, Storage, Synchronisation, UpdateMethod, Wait,
};
use crate::exact::ExactTable;
use crate::layout::{Layout, LayoutError};

use super::{Case, Operation};

/// The way in which threads share a table, before the number of cores is known. [`Sharing::of`]
/// returns the synchronisation for a given number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// The table has two replicas. After a writer has swapped them, it waits by this method.
    DoubleBuffer(Wait),
    /// The table has one replica, whose readers check versions.
    Optimistic,
    /// Each core has a table of its own, with all entries.
    Sharded,
}

impl Sharing {
    /// Returns the synchronisation of a table that `cores` cores use.
    pub fn of(self, cores: usize) -> Synchronisation {
        match self {
            Self::DoubleBuffer(wait) => Synchronisation::DoubleBuffer { wait },
            Self::Optimistic => Synchronisation::Optimistic,
            Self::Sharded => Synchronisation::sharded(cores),
        }
    }
}

/// Lists of values, one list for each property of a case. Every combination of the values is
/// requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// The storages that are compared.
    pub storages: Vec<Storage>,
    /// The synchronisations that are compared.
    pub sharings: Vec<Sharing>,
    /// The entry locks that are compared.
    pub locks: Vec<EntryLock>,
    /// The update methods that are compared.
    pub updates: Vec<UpdateMethod>,
    /// The operations that packets perform.
    pub operations: Vec<Operation>,
    /// The declared sizes of tables that are compared, in entries.
    pub sizes: Vec<usize>,
    /// The widths of keys, in bits.
    pub key_bits: Vec<u32>,
    /// The sizes of parameters, in bytes.
    pub parameter_bytes: Vec<usize>,
    /// The numbers of cores that are compared.
    pub cores: Vec<usize>,
    /// The properties that the program requires. Designs that do not provide them are not offered.
    pub asks: Requirements,
}

impl Selection {
    /// Returns the comparisons of the paper, extended by inline storage and sharded tables:
    /// storages, locks and cores against size (Fig. 4 to 6), one and two replicas (Fig. 4), and, at
    /// the largest size, update methods (Table 1).
    pub fn paper(
        sizes: &[usize],
        cores: &[usize],
        key_bits: &[u32],
        parameter_bytes: &[usize],
    ) -> Vec<Self> {
        let designs = Self {
            storages: Storage::ALL.to_vec(),
            sharings: vec![Sharing::Optimistic, Sharing::Sharded],
            locks: vec![EntryLock::None, EntryLock::PerEntry],
            updates: vec![UpdateMethod::Pointer],
            operations: vec![Operation::Update],
            sizes: sizes.to_vec(),
            key_bits: key_bits.to_vec(),
            parameter_bytes: parameter_bytes.to_vec(),
            cores: cores.to_vec(),
            asks: Requirements::default(),
        };
        let one_core: Vec<usize> = cores.iter().copied().min().into_iter().collect();
        let replicas = Self {
            storages: vec![Storage::Dynamic],
            sharings: vec![Sharing::DoubleBuffer(Wait::Quiescent), Sharing::Optimistic],
            locks: vec![EntryLock::None],
            operations: vec![Operation::Read],
            cores: one_core.clone(),
            ..designs.clone()
        };
        let methods = Self {
            storages: vec![Storage::Static, Storage::Inline],
            sharings: vec![
                Sharing::DoubleBuffer(Wait::PAPER),
                Sharing::DoubleBuffer(Wait::Quiescent),
                Sharing::Optimistic,
            ],
            locks: vec![EntryLock::None],
            updates: vec![UpdateMethod::Pointer, UpdateMethod::Change, UpdateMethod::Digest],
            sizes: sizes.iter().copied().max().into_iter().collect(),
            cores: one_core,
            ..designs.clone()
        };
        vec![designs, replicas, methods]
    }
}

/// A requested combination that no table supports.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct NotOffered {
    /// The description of the combination.
    pub what: String,
    /// The description of the reason why no table supports it.
    pub reason: String,
}

/// The cases that will be measured, in order, and the requested combinations that will not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The cases to measure. Those with tables of one size are adjacent.
    pub cases: Vec<Case>,
    /// The requested combinations that no table supports.
    pub not_offered: Vec<NotOffered>,
}

impl Plan {
    /// Makes the plan of all combinations that the selections request. A combination that several
    /// of them request is in the plan once.
    ///
    /// # Errors
    /// Returns an error if a layout is invalid for every design.
    pub fn new(selections: &[Selection]) -> Result<Self, LayoutError> {
        let mut plan = Self::default();
        let mut seen = HashSet::new();
        for selection in selections {
            plan.add(selection, &mut seen)?;
        }
        let mut refused = HashSet::new();
        plan.not_offered.retain(|combination| refused.insert(combination.what.clone()));
        // Small tables come first. Cases that can take turns are adjacent.
        plan.cases.sort_by_key(|case| {
            let layout = &case.layout;
            (layout.size(), layout.key_bits(), layout.parameter_bytes())
        });
        Ok(plan)
    }

    /// Splits the plan into parts, one for each layout. The cases of a part take turns.
    /// Combinations that no table supports are omitted.
    #[must_use]
    pub fn parts(&self) -> Vec<Self> {
        let of_one = |cases: &[Case]| Self { cases: cases.to_vec(), not_offered: Vec::new() };
        self.cases.chunk_by(|a, b| a.layout == b.layout).map(of_one).collect()
    }

    fn add(&mut self, selection: &Selection, seen: &mut HashSet<Case>) -> Result<(), LayoutError> {
        let Selection { sizes, key_bits, parameter_bytes, cores, .. } = selection;
        for &size in sizes {
            for &key_bits in key_bits {
                for &parameter_bytes in parameter_bytes {
                    let layout = Layout::new(key_bits, parameter_bytes, size)?;
                    for &cores in cores {
                        self.add_designs(selection, layout, cores, seen);
                    }
                }
            }
        }
        Ok(())
    }

    fn add_designs(
        &mut self,
        selection: &Selection,
        layout: Layout,
        cores: usize,
        seen: &mut HashSet<Case>,
    ) {
        for &storage in &selection.storages {
            for &sharing in &selection.sharings {
                for &entry_lock in &selection.locks {
                    for &operation in &selection.operations {
                        for &update in &selection.updates {
                            let update = match (operation, sharing) {
                                // Reads use no update method, but a design with two replicas is
                                // valid only with the method `Change`.
                                (Operation::Read, Sharing::DoubleBuffer(_)) => UpdateMethod::Change,
                                (Operation::Read, _) => UpdateMethod::Pointer,
                                (Operation::Update, _) => update,
                            };
                            let synchronisation = sharing.of(cores);
                            let design = Design { storage, synchronisation, entry_lock, update };
                            let case = Case { design, operation, layout, cores };
                            match refusal(&case, sharing, selection.asks) {
                                Some(reason) => self.not_offered.push(reason),
                                None if seen.insert(case) => self.cases.push(case),
                                None => {}
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the reason why a case cannot be measured, if there is one.
fn refusal(case: &Case, sharing: Sharing, asks: Requirements) -> Option<NotOffered> {
    let Case { design, layout, cores, .. } = case;
    let name = Name { sharing, lock: design.entry_lock, update: design.update };
    let refused = |what: String, reason: String| Some(NotOffered { what, reason });
    if let Err(error) = design.check(asks) {
        return refused(name.to_string(), error.to_string());
    }
    if design.update == UpdateMethod::Digest && *cores > 1 {
        let reason = "all cores share one controller and its socket, so that the digests of one could not be \
             distinguished from those of the others: measure it on one core";
        return refused(format!("digest on {cores} cores"), reason.to_owned());
    }
    let shape = format!(
        "keys of {} bits with {} B of parameters",
        layout.key_bits(),
        layout.parameter_bytes()
    );
    if let Err(error) = ExactTable::check(layout) {
        return refused(shape, error.to_string());
    }
    if case.operation == Operation::Update && layout.parameter_bytes() == 0 {
        let reason = "packets have nothing to write in entries without parameters: measure reads";
        return refused(format!("updates of {shape}"), reason.to_owned());
    }
    let bits = layout.key_bits();
    if bits < usize::BITS && layout.size() > 1 << bits {
        let what = format!("{} entries with keys of {bits} bits", layout.size());
        return refused(what, format!("there are only {} such keys", 1_usize << bits));
    }
    None
}

/// The name of a design without its storage, used to report refused combinations.
struct Name {
    sharing: Sharing,
    lock: EntryLock,
    update: UpdateMethod,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sharing = match self.sharing {
            Sharing::Sharded => "sharded".to_owned(),
            sharing => sharing.of(1).to_string(),
        };
        write!(f, "{sharing}/{}/{}", self.lock, self.update)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns a selection of every design and operation.
    pub(in crate::measure) fn everything() -> Selection {
        Selection {
            storages: Storage::ALL.to_vec(),
            sharings: vec![
                Sharing::DoubleBuffer(Wait::PAPER),
                Sharing::DoubleBuffer(Wait::Quiescent),
                Sharing::Optimistic,
                Sharing::Sharded,
            ],
            locks: vec![EntryLock::None, EntryLock::PerEntry],
            updates: vec![UpdateMethod::Pointer, UpdateMethod::Change, UpdateMethod::Digest],
            operations: vec![Operation::Update, Operation::Read],
            sizes: vec![1, 16],
            key_bits: vec![1, 32],
            parameter_bytes: vec![4],
            cores: vec![1, 2],
            asks: Requirements::default(),
        }
    }

    /// Checks that every combination is a case or has a reason, and that no case is refused by a
    /// table.
    #[test]
    fn every_combination_is_a_case_or_has_a_reason() {
        let selection = everything();
        let plan = Plan::new(std::slice::from_ref(&selection)).unwrap();
        for case in &plan.cases {
            assert_eq!(case.design.check(Requirements::default()), Ok(()), "{case:?}");
        }
        let mut combinations = 0;
        for &cores in &selection.cores {
            for &sharing in &selection.sharings {
                for &lock in &selection.locks {
                    for &update in &selection.updates {
                        combinations += 1;
                        let name = Name { sharing, lock, update }.to_string();
                        let found = plan.cases.iter().any(|case| {
                            case.cores == cores
                                && case.design.synchronisation == sharing.of(cores)
                                && case.design.entry_lock == lock
                                && case.design.update == update
                        });
                        let refused = |what: &str| {
                            what == name
                                || update == UpdateMethod::Digest
                                    && what == format!("digest on {cores} cores")
                        };
                        let refused = plan.not_offered.iter().any(|not| refused(&not.what));
                        assert!(found ^ refused, "{name} on {cores} cores: {found} {refused}");
                    }
                }
            }
        }
        assert_eq!(combinations, 48);
        assert!(plan.not_offered.iter().any(|not| not.what == "16 entries with keys of 1 bits"));
    }

    #[test]
    fn designs_that_a_program_cannot_use_are_not_offered() {
        let asks = Requirements { reference_parameters: true, ..Requirements::default() };
        let plan = Plan::new(&[Selection { asks, ..everything() }]).unwrap();
        assert!(plan.cases.iter().all(|case| case.design.check(asks).is_ok()));
        assert!(plan.not_offered.iter().any(|not| not.reason.contains("reference parameter")));
    }

    #[test]
    fn a_case_that_is_requested_twice_is_measured_once() {
        let plan = Plan::new(&[everything(), everything()]).unwrap();
        let cases: HashSet<_> = plan.cases.iter().collect();
        assert_eq!(cases.len(), plan.cases.len());
        assert_eq!(plan, Plan::new(&[everything()]).unwrap());
    }

    #[test]
    fn the_papers_comparison_has_every_figure() {
        let plan = Plan::new(&Selection::paper(&[1, 256, 4096], &[1, 2], &[32], &[4])).unwrap();
        let has = |wanted: &dyn Fn(&Case) -> bool| plan.cases.iter().any(wanted);
        for size in [1, 256, 4096] {
            for storage in Storage::ALL {
                for cores in [1, 2] {
                    let of = |case: &Case| {
                        (case.layout.size(), case.design.storage, case.cores)
                            == (size, storage, cores)
                    };
                    assert!(has(&|case| of(case) && case.design.entry_lock == EntryLock::PerEntry));
                    assert!(has(&|case| of(case) && case.design.entry_lock == EntryLock::None));
                }
            }
        }
        for update in [UpdateMethod::Pointer, UpdateMethod::Change, UpdateMethod::Digest] {
            assert!(has(&|case| case.design.update == update && case.layout.size() == 4096));
        }
        assert!(plan.not_offered.iter().any(|not| not.what.contains("pointer")), "{plan:?}");
    }

    #[test]
    fn parts_have_all_cases_in_order_and_one_layout_each() {
        let plan = Plan::new(&[everything()]).unwrap();
        let parts = plan.parts();
        let cases: Vec<Case> = parts.iter().flat_map(|part| part.cases.clone()).collect();
        assert_eq!(cases, plan.cases);
        let layouts: HashSet<_> = plan.cases.iter().map(|case| case.layout).collect();
        assert_eq!(parts.len(), layouts.len());
        assert!(parts.len() > 1 && parts.iter().all(|part| part.not_offered.is_empty()));
    }

    #[test]
    fn a_layout_that_no_table_has_is_an_error() {
        let zero = Selection { sizes: vec![0], ..everything() };
        assert_eq!(Plan::new(&[zero]), Err(LayoutError::NoEntries));
    }
}
