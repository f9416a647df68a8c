//! The shares of several processes in a measurement.

use serde::{Deserialize, Serialize};

use crate::Host;

/// The share of one process in the work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// The number of the process, from 0.
    pub rank: u32,
    /// The host of the process; the default if the process never reported it.
    pub host: Host,
    /// The finished work, in words.
    pub did: Vec<String>,
    /// The assigned work that was not finished.
    pub missing: Vec<String>,
    /// The reason why the process did less than was assigned to it, or nothing.
    pub remark: Option<String>,
}

impl Share {
    /// Returns a sentence with the process, its finished work and the remark.
    #[must_use]
    pub fn in_words(&self) -> String {
        format!("{}: {}", self.who(), self.what())
    }

    /// Returns the process and its host.
    #[must_use]
    pub fn who(&self) -> String {
        match self.host.hostname.as_str() {
            "" => format!("rank {}", self.rank),
            name => format!("rank {} on {name} ({})", self.rank, self.host.cpu_model),
        }
    }

    /// Returns the finished work and the remark.
    #[must_use]
    pub fn what(&self) -> String {
        let did = match self.did.as_slice() {
            [] => "nothing".to_owned(),
            did => did.join(", "),
        };
        match &self.remark {
            None => did,
            Some(remark) => format!("{did}; {remark}"),
        }
    }

    /// Returns a sentence about the missing work and its reason, or `None` if no work is missing.
    #[must_use]
    pub fn missing_in_words(&self) -> Option<String> {
        let why = self.remark.as_deref().unwrap_or("it was interrupted");
        let missing = self.missing.join(", ");
        (!self.missing.is_empty()).then(|| format!("rank {} ({why}) left out {missing}", self.rank))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Provenance;

    #[test]
    fn missing_work_is_reported_with_its_reason() {
        let whole = Share { did: vec!["16 entries".to_owned()], ..Share::default() };
        let lost = Share {
            rank: 2,
            missing: vec!["64 entries".to_owned(), "256 entries".to_owned()],
            remark: Some("it ended".to_owned()),
            ..Share::default()
        };
        assert_eq!(whole.in_words(), "rank 0: 16 entries");
        assert_eq!(lost.in_words(), "rank 2: nothing; it ended");
        let mut provenance = Provenance { shares: vec![whole], ..Provenance::default() };
        assert_eq!(provenance.missing(), None);
        provenance.shares.push(lost);
        let missing = provenance.missing().expect("two items");
        assert_eq!(missing, "rank 2 (it ended) left out 64 entries, 256 entries");
    }
}
