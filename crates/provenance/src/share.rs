//! What each of several processes did.

use serde::{Deserialize, Serialize};

use crate::Host;

/// What one of several processes that shared the work had of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Which process, from 0.
    pub rank: u32,
    /// Where it ran; the default if it never said.
    pub host: Host,
    /// What it did, in words.
    pub did: Vec<String>,
    /// What it was to do and did not.
    pub missing: Vec<String>,
    /// Why it did less than it was to, or had nothing to do.
    pub remark: Option<String>,
}

impl Share {
    /// What it did, and why no more, in a sentence.
    #[must_use]
    pub fn in_words(&self) -> String {
        format!("{}: {}", self.who(), self.what())
    }

    /// Which process, and where it ran.
    #[must_use]
    pub fn who(&self) -> String {
        match self.host.hostname.as_str() {
            "" => format!("rank {}", self.rank),
            name => format!("rank {} on {name} ({})", self.rank, self.host.cpu_model),
        }
    }

    /// What it did, and why no more.
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

    /// What is missing of it, and why, in a sentence.
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
    fn what_a_process_left_out_is_said_with_the_reason() {
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
