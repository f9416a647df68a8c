//! The provenance of measured figures: the command, the build, the time, the duration and the host.
//!
//! Every verb that writes a result includes a [`Provenance`] with the same keys. A measurement
//! calls [`Began::now`] before it measures anything, and [`Began::provenance`] whenever it writes a
//! result.

mod build;
mod host;
mod share;

use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

pub use build::Build;
pub use host::{Host, cores};
pub use share::Share;

/// The provenance of a result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// The version of Planimeter.
    pub planimeter_version: String,
    /// The build of Planimeter; `None` in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<Build>,
    /// The start time, in RFC 3339, UTC, to the second.
    pub started_at: String,
    /// The duration in seconds.
    pub elapsed_s: f64,
    /// The command line, without secrets.
    pub command: Vec<String>,
    /// The host on which the command ran.
    pub host: Host,
    /// The work of each process, if several processes shared it; empty for a single process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<Share>,
}

impl Provenance {
    /// Returns a sentence about the work that is missing because a process was lost or interrupted,
    /// or `None` if the result is complete.
    #[must_use]
    pub fn missing(&self) -> Option<String> {
        let missing: Vec<String> = self.shares.iter().filter_map(Share::missing_in_words).collect();
        (!missing.is_empty()).then(|| missing.join("; "))
    }
}

/// The start of a measurement.
#[derive(Clone, Debug)]
pub struct Began {
    clock: Instant,
    provenance: Provenance,
}

impl Began {
    /// Starts a measurement now. The command line appears in the result, so it must not contain
    /// secrets.
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

    /// Returns the time since the start.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.clock.elapsed()
    }

    /// Returns the provenance of a result that is complete now.
    #[must_use]
    pub fn provenance(&self) -> Provenance {
        Provenance { elapsed_s: self.elapsed().as_secs_f64(), ..self.provenance.clone() }
    }
}

/// Formats a time as results contain it: RFC 3339, UTC, to the second.
#[must_use]
pub fn timestamp(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_reports_its_command_and_its_duration_so_far() {
        let start = Began::now(vec!["planimeter".to_owned(), "demo".to_owned()]);
        let (first, second) = (start.provenance(), start.provenance());
        assert!(second.elapsed_s >= first.elapsed_s && first.elapsed_s >= 0.0);
        assert_eq!(Provenance { elapsed_s: first.elapsed_s, ..second }, first);
        assert_eq!(first.command, ["planimeter", "demo"]);
        assert!(humantime::parse_rfc3339(&first.started_at).is_ok(), "{first:?}");
    }

    /// Checks that results contain these keys next to their own.
    #[test]
    fn a_provenance_within_a_result_reads_back() {
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
