//! The provenance of measured figures: the command, the build, the time, the duration and the host.
//!
//! Every command that writes a result includes a [`Provenance`] with the same keys. A measurement
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

/// The origin of a measured result: the program, its command line, the time and the host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// The version of the Planimeter that measured.
    pub planimeter_version: String,
    /// The build of Planimeter, or `None` in results of versions that did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<Build>,
    /// The time at which the measurement started, in UTC and in the format of RFC 3339, with a
    /// precision of a second.
    pub started_at: String,
    /// The time from the start of the measurement until this result was written, in seconds.
    pub elapsed_s: f64,
    /// The command line of the measurement, without secrets.
    pub command: Vec<String>,
    /// The host on which the command ran.
    pub host: Host,
    /// The work of each process, if several processes shared the measurement (empty for a single
    /// process).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<Share>,
}

impl Provenance {
    /// Returns a sentence about the work that is missing from the result because a process was lost
    /// or interrupted, or `None` if the result is complete.
    #[must_use]
    pub fn missing(&self) -> Option<String> {
        let missing: Vec<String> = self.shares.iter().filter_map(Share::missing_in_words).collect();
        (!missing.is_empty()).then(|| missing.join("; "))
    }
}

/// A measurement that has started, from which results get their [`Provenance`].
#[derive(Clone, Debug)]
pub struct Began {
    clock: Instant,
    provenance: Provenance,
}

impl Began {
    /// Records that a measurement starts now. Results contain `command`, so it must not contain
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

    /// Returns the time since the measurement started.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.clock.elapsed()
    }

    /// Returns the provenance of a result that is written now.
    #[must_use]
    pub fn provenance(&self) -> Provenance {
        Provenance { elapsed_s: self.elapsed().as_secs_f64(), ..self.provenance.clone() }
    }
}

/// Formats a time in UTC, in the format of RFC 3339 and with a precision of a second, as in all
/// results.
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

    /// A provenance that is written into a result, among keys of the result's own, is read without
    /// a change.
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
