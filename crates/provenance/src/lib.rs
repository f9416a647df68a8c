//! Where a measured figure comes from: the command, the build, when it ran, for how long, and on which host.
//!
//! Every verb that leaves a result says so with the same type, [`Provenance`], and under the same keys. A measurement
//! [begins](Began::now) before anything is measured, and tells its provenance whenever a result is written.

mod build;
mod host;
mod share;

use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

pub use build::Build;
pub use host::{Host, cores};
pub use share::Share;

/// Where a result comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Version of Planimeter that ran.
    pub planimeter_version: String,
    /// The build that ran; absent in earlier results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<Build>,
    /// Start, RFC 3339, UTC, to the second.
    pub started_at: String,
    /// Length in seconds.
    pub elapsed_s: f64,
    /// The command line, without secrets.
    pub command: Vec<String>,
    /// The host that ran it.
    pub host: Host,
    /// Who did what, where several processes shared the work; empty for one alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<Share>,
}

impl Provenance {
    /// What is missing since a process was lost or interrupted, in a sentence; nothing where all is there.
    #[must_use]
    pub fn missing(&self) -> Option<String> {
        let missing: Vec<String> = self.shares.iter().filter_map(Share::missing_in_words).collect();
        (!missing.is_empty()).then(|| missing.join("; "))
    }
}

/// A measurement under way.
#[derive(Clone, Debug)]
pub struct Began {
    clock: Instant,
    provenance: Provenance,
}

impl Began {
    /// Begins now. The command line is shown to every reader of the result, so it holds no secret.
    #[must_use]
    pub fn now(command: Vec<String>) -> Self {
        let provenance = Provenance {
            planimeter_version: env!("CARGO_PKG_VERSION").to_owned(),
            build: Build::declared(),
            started_at: timestamp(SystemTime::now()),
            elapsed_s: 0.0,
            command,
            host: Host::read(),
            shares: Vec::new(),
        };
        Self { clock: Instant::now(), provenance }
    }

    /// How long ago that was.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.clock.elapsed()
    }

    /// Where what is known by now comes from.
    #[must_use]
    pub fn provenance(&self) -> Provenance {
        Provenance { elapsed_s: self.elapsed().as_secs_f64(), ..self.provenance.clone() }
    }
}

/// A time of day as results have it: RFC 3339, UTC, to the second.
#[must_use]
pub fn timestamp(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_tells_its_command_and_its_length_so_far() {
        let began = Began::now(vec!["planimeter".to_owned(), "demo".to_owned()]);
        let (first, second) = (began.provenance(), began.provenance());
        assert!(second.elapsed_s >= first.elapsed_s && first.elapsed_s >= 0.0);
        assert_eq!(Provenance { elapsed_s: first.elapsed_s, ..second }, first);
        assert_eq!(first.command, ["planimeter", "demo"]);
        assert!(humantime::parse_rfc3339(&first.started_at).is_ok(), "{first:?}");
    }

    /// Results hold these keys beside their own.
    #[test]
    fn it_is_written_into_a_result_and_read_from_it() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct Result {
            schema: String,
            #[serde(flatten)]
            provenance: Provenance,
            points: Vec<f64>,
        }
        let result = Result {
            schema: "a".to_owned(),
            provenance: Began::now(vec!["planimeter".to_owned()]).provenance(),
            points: vec![0.1, 2.0],
        };
        let text = serde_json::to_string(&result).expect("JSON");
        assert!(text.contains("\"elapsed_s\":") && text.contains("\"cpu_model\":"), "{text}");
        assert_eq!(serde_json::from_str::<Result>(&text).expect("JSON"), result);
    }
}
