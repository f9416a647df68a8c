//! The build of the program that performed a measurement.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// The build of the program that performed a measurement: its sources and its compilation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// The commit of the sources, or `None` if they were built outside their repository, for
    /// instance from a tarball.
    pub commit: Option<String>,
    /// Whether the sources had uncommitted changes, or `None` if the commit is unknown.
    pub modified: Option<bool>,
    /// The build profile: `release`, `quick` or `dev`.
    pub profile: String,
}

/// The build that the running program has declared.
static DECLARED: OnceLock<Build> = OnceLock::new();

impl Build {
    /// Declares the build of the running program. The provenance of all measurements that start
    /// later contains it. Only the first declaration has an effect.
    ///
    /// The program passes the commit to this crate, because a commit compiled into this crate would
    /// cause all dependent crates to be recompiled at every commit.
    pub fn declare(self) {
        let _ = DECLARED.set(self);
    }

    /// Returns the build that the running program declared, or `None` if it declared none.
    pub(crate) fn declared() -> Option<Self> {
        DECLARED.get().cloned()
    }

    /// Describes the build in words, such as `commit 86dcbcf4e785, profile release`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let sources = match (self.commit.as_deref(), self.modified) {
            (Some(commit), Some(true)) => format!("commit {} with changes", abbreviated(commit)),
            (Some(commit), _) => format!("commit {}", abbreviated(commit)),
            (None, _) => "built outside of its repository".to_owned(),
        };
        format!("{sources}, profile {}", self.profile)
    }
}

/// Returns the first twelve characters of a commit, which identify it within a repository.
fn abbreviated(commit: &str) -> &str {
    commit.char_indices().nth(12).map_or(commit, |(end, _)| &commit[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_names_its_commit_or_says_that_there_is_none() {
        let commit = "86dcbcf4e7850123456789abcdef0123456789ab".to_owned();
        let clean =
            Build { commit: Some(commit), modified: Some(false), profile: "release".to_owned() };
        let changed = Build { modified: Some(true), profile: "quick".to_owned(), ..clean.clone() };
        let unpacked = Build { commit: None, modified: None, ..clean.clone() };
        assert_eq!(clean.in_words(), "commit 86dcbcf4e785, profile release");
        assert_eq!(changed.in_words(), "commit 86dcbcf4e785 with changes, profile quick");
        assert_eq!(unpacked.in_words(), "built outside of its repository, profile release");
        let text = serde_json::to_string(&unpacked).expect("JSON");
        assert_eq!(text, r#"{"commit":null,"modified":null,"profile":"release"}"#);
    }

    #[test]
    fn a_commit_is_abbreviated_between_characters() {
        let odd = Build { commit: Some("ä".repeat(20)), ..Build::default() };
        assert!(odd.in_words().starts_with(&format!("commit {},", "ä".repeat(12))));
    }
}
