//! Errors in the settings that determine when packet-ins are sent.

use std::io;
use std::path::PathBuf;

use packetio::pcap::CaptureError;
use thiserror::Error;

/// The reason why no schedule can be computed from a configuration.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// The rate of a switch is out of range.
    #[error(
        "switch {switch}: a rate of {rate} packet-ins per second is impossible; give one from \
         {min:e} to {max:e}"
    )]
    Rate {
        /// The index of the switch, from 0.
        switch: u32,
        /// The configured rate, per second.
        rate: f64,
        /// The lowest possible rate.
        min: f64,
        /// The highest possible rate.
        max: f64,
    },
    /// A parameter of a distribution is out of range.
    #[error(
        "switch {switch}: {distribution} inter-arrival times with {parameter} {value} are \
         impossible; {parameter} must be {wanted}"
    )]
    Parameter {
        /// The index of the switch, from 0.
        switch: u32,
        /// The name of the distribution.
        distribution: &'static str,
        /// The name of the parameter.
        parameter: &'static str,
        /// The value of the parameter.
        value: f64,
        /// A description of the possible values.
        wanted: &'static str,
    },
    /// The delays and the measured times add up to more than can be scheduled.
    #[error(
        "the traffic of a trial lasts {seconds} s; at most {max} s (a century) can be scheduled"
    )]
    TooLong {
        /// The configured length.
        seconds: u64,
        /// The longest possible length.
        max: u64,
    },
    /// A file of inter-arrival times cannot be read.
    #[error("cannot read inter-arrival times from {}: {source}", path.display())]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A line of a file of inter-arrival times is not a time.
    #[error("{}:{line}: {reason}", path.display())]
    Line {
        /// The path of the file.
        path: PathBuf,
        /// The line number, from 1.
        line: u64,
        /// The description of the fault.
        reason: String,
    },
    /// A capture cannot be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A file was read, but no schedule can be computed from its times.
    #[error("{}: {reason}", path.display())]
    Unusable {
        /// The path of the file.
        path: PathBuf,
        /// The description of the fault.
        reason: String,
    },
}
