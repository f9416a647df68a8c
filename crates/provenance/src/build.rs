//! The build of the program that measured.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// The build of the program that measured: the sources, and how they were compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// The commit of the sources; absent where they were built outside of their repository, from a
    /// tarball for instance.
    pub commit: Option<String>,
    /// Whether the sources differed from that commit; absent without a commit.
    pub modified: Option<bool>,
    /// The profile of the build: `release`, `quick` or `dev`.
    pub profile: String,
}

static DECLARED: OnceLock<Build> = OnceLock::new();

impl Build {
    /// Declares the build of this program, which every measurement that begins afterwards reports.
    /// A program declares it once, when it starts; a later declaration changes nothing.
    ///
    /// The program says it, and not this crate, because a new commit would recompile this crate and
    /// with it all that depend on it.
    pub fn declare(self) {
        let _ = DECLARED.set(self);
    }

    /// The build that this program declared.
    pub(crate) fn declared() -> Option<Self> {
        DECLARED.get().cloned()
    }

    /// The build in words, such as `commit 86dcbcf4e785, profile release`.
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

/// The first twelve characters of a commit, which tell it from all others of a repository.
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
    fn what_a_result_says_as_its_commit_is_cut_between_characters() {
        let odd = Build { commit: Some("ä".repeat(20)), ..Build::default() };
        assert!(odd.in_words().starts_with(&format!("commit {},", "ä".repeat(12))));
    }
}
