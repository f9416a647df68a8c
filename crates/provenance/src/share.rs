//! The shares of several processes in a measurement that they perform together.

use serde::{Deserialize, Serialize};

use crate::Host;

/// The work that one of several processes did in a measurement, and the work that it left undone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// The number of the process among those that share the measurement, from 0.
    pub rank: u32,
    /// The host of the process, or the empty default host if the process never reported it.
    pub host: Host,
    /// The names of the items of work that the process finished, such as `16 entries`.
    pub did: Vec<String>,
    /// The names of the items of work that were assigned to the process but not finished.
    pub missing: Vec<String>,
    /// The reason why the process left work undone or was assigned none, for example that it was
    /// lost, or `None` if no reason is known.
    pub remark: Option<String>,
}

impl Share {
    /// Describes the share in a sentence: the process, its finished work, and the remark.
    #[must_use]
    pub fn in_words(&self) -> String {
        format!("{}: {}", self.who(), self.what())
    }

    /// Describes the process by its rank, its host, and the processor of the host.
    #[must_use]
    pub fn who(&self) -> String {
        match self.host.hostname.as_str() {
            "" => format!("rank {}", self.rank),
            name => format!("rank {} on {name} ({})", self.rank, self.host.cpu_model),
        }
    }

    /// Lists the work that the process finished, followed by the remark.
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

    /// Returns a sentence about the work that the process left undone and the reason, or `None` if
    /// it completed its work.
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
