//! The sharing of a command's work among several processes (ranks). The first rank writes the
//! result, and the others help it.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use provenance::{Host, Provenance, Share};
use ranks::{Group, Rank, ShareError, Shared, Work};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::{Failure, INTERRUPTED};

/// The processes (ranks) that share the work of a command. This process is the only one unless
/// mpirun or environment variables say otherwise.
pub(crate) struct RankGroup {
    group: Option<Group>,
}

/// The items of work that the ranks share.
pub(crate) struct Items {
    /// The name of each item of work, for reports.
    pub(crate) names: Vec<String>,
    /// Further input of the work, such as the text of a file. It must be equal in all ranks.
    pub(crate) basis: String,
    /// The numbers of the cores on which the items run, if ranks must not share cores, and
    /// otherwise `None`.
    pub(crate) cores: Option<Vec<usize>>,
}

/// The results of all items of work, which only the first rank has.
pub(crate) struct Parts<T> {
    /// The result of each item, or `None` if no rank finished it.
    pub(crate) results: Vec<Option<T>>,
    /// The finished and the missing work of each rank (empty if this process is the only one).
    pub(crate) shares: Vec<Share>,
}

impl RankGroup {
    /// Connects this process to the other ranks, if there are any.
    pub(crate) fn join() -> Result<Self, Failure> {
        Ok(Self { group: ranks::join().map_err(Failure::input)? })
    }

    /// Returns whether this process is the only rank.
    pub(crate) fn is_alone(&self) -> bool {
        self.group.is_none()
    }

    /// Returns whether this process is the first rank, which writes the result.
    pub(crate) fn leads(&self) -> bool {
        self.group.as_ref().is_none_or(Group::is_first)
    }

    /// Returns the number of ranks, at least 1.
    pub(crate) fn size(&self) -> usize {
        self.group.as_ref().map_or(1, |group| group.size() as usize)
    }

    /// Works on the items together with the other ranks. `each` returns the result of the item with
    /// a given index. Returns the results of all items at the first rank, and `None` at all other
    /// ranks.
    pub(crate) fn share<T: Serialize + DeserializeOwned + Send>(
        &mut self,
        items: Items,
        interrupt: &AtomicBool,
        each: impl FnMut(usize) -> T + Send,
    ) -> Result<Option<Parts<T>>, Failure> {
        let (leads, alone) = (self.leads(), self.is_alone());
        let host = serde_json::to_string(&Host::read()).map_err(Failure::run)?;
        let work = Work {
            items: items.names.clone(),
            basis: digest(&items.basis),
            cores: items.cores,
            about: host,
        };
        let shared = ranks::share(self.group.as_mut(), work, interrupt, each);
        let shared = shared.map_err(|error| failure(&error))?;
        let shares = if alone { Vec::new() } else { shares(&shared, &items.names, self.size()) };
        Ok(leads.then_some(Parts { results: shared.results, shares }))
    }

    /// Disconnects this process from the other ranks. `status` is the exit status of the process.
    pub(crate) fn leave(self, status: u8) -> Result<ExitCode, Failure> {
        // Leaving may end the process.
        std::io::stdout().flush().map_err(Failure::run)?;
        if let Some(group) = self.group {
            group.leave(status);
        }
        Ok(ExitCode::from(status))
    }

    /// Disconnects a process that helped the first rank. Its exit status is 130 after an interrupt,
    /// and otherwise 0.
    pub(crate) fn leave_helper(self, interrupt: &AtomicBool) -> Result<ExitCode, Failure> {
        let interrupted = interrupt.load(std::sync::atomic::Ordering::Relaxed);
        self.leave(if interrupted { INTERRUPTED } else { 0 })
    }
}

/// Returns the failure of a command whose work cannot be shared. The loss of the first rank is a
/// failure of the run; all other errors are wrong input.
fn failure(error: &ShareError) -> Failure {
    match error {
        ShareError::Alone(_) => Failure::run(error),
        _ => Failure::input(error),
    }
}

/// Returns the exit status of a command whose work the ranks share. A nonzero `verdict` is the exit
/// status. Otherwise it is 130 after an interrupt, 1 if a part of the work is missing, and else 0.
pub(crate) fn status(verdict: u8, provenance: &Provenance, interrupted: bool) -> u8 {
    match verdict {
        0 if interrupted => INTERRUPTED,
        0 => u8::from(provenance.missing().is_some()),
        broken => broken,
    }
}

/// Returns a hash of a text. Ranks of the same build compare the hash to check that they have the
/// same text.
fn digest(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Returns the finished and the missing work of each rank, with its host.
fn shares<T>(shared: &Shared<T>, names: &[String], size: usize) -> Vec<Share> {
    let mut shares: BTreeMap<u32, Share> = BTreeMap::new();
    for rank in (0..u32::try_from(size).unwrap_or(u32::MAX)).map(Rank) {
        let about = shared.about.get(&rank);
        let host = about.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let lost = shared.lost.get(&rank).map(|cause| format!("it was lost: {cause}"));
        let remark = lost.or_else(|| shared.idle.get(&rank).cloned());
        shares.insert(rank.0, Share { rank: rank.0, host, remark, ..Share::default() });
    }
    for ((name, owner), result) in names.iter().zip(&shared.owners).zip(&shared.results) {
        let Some(share) = shares.get_mut(&owner.0) else { continue };
        match result {
            Some(_) => share.did.push(name.clone()),
            None => share.missing.push(name.clone()),
        }
    }
    shares.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_that_is_gone_is_no_wrong_input() {
        let differs = ShareError::Differs { rank: Rank(1), what: "b instead of a".to_owned() };
        let refused = ShareError::Refused(differs.to_string());
        for wrong in [differs, refused] {
            assert!(matches!(failure(&wrong), Failure::Input(_)), "{wrong}");
        }
        let alone = ShareError::Alone("its connection was closed".to_owned());
        assert!(matches!(failure(&alone), Failure::Run(_)));
    }

    #[test]
    fn shares_name_missing_items_and_ranks_without_items() {
        let names = ["a", "b", "c", "d"].map(str::to_owned);
        let shared = Shared {
            results: vec![Some(1), None, Some(3), None],
            owners: [0, 2, 0, 2].map(Rank).to_vec(),
            about: BTreeMap::new(),
            idle: BTreeMap::from([(Rank(1), "core 0 is rank 0's".to_owned())]),
            lost: BTreeMap::from([(Rank(2), "it ended".to_owned())]),
        };
        let shares = shares(&shared, &names, 3);
        let words: Vec<_> = shares.iter().map(Share::in_words).collect();
        assert_eq!(
            words,
            [
                "rank 0: a, c",
                "rank 1: nothing; core 0 is rank 0's",
                "rank 2: nothing; it was lost: it ended"
            ]
        );
        assert_eq!(shares[2].missing, ["b", "d"]);
        assert_ne!(digest("a"), digest("b"));
        // A missing part is no success, and a failed threshold outweighs an interrupt.
        let whole = Provenance::default();
        let partial = Provenance { shares, ..Provenance::default() };
        assert_eq!([status(0, &whole, false), status(0, &partial, false)], [0, 1]);
        assert_eq!([status(0, &partial, true), status(1, &partial, true)], [INTERRUPTED, 1]);
    }
}
