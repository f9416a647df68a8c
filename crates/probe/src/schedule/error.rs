//! What is wrong with a configuration of traffic over time.

use std::io;
use std::path::PathBuf;

use packetio::pcap::CaptureError;
use thiserror::Error;

/// Why no schedule can be made from a configuration.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// The rate of a switch is no rate.
    #[error(
        "switch {switch}: a rate of {rate} packet-ins per second is impossible; give one from \
         {min:e} to {max:e}"
    )]
    Rate {
        /// Index of the switch, from 0.
        switch: u32,
        /// The rate asked for, per second.
        rate: f64,
        /// Lowest rate possible.
        min: f64,
        /// Highest rate possible.
        max: f64,
    },
    /// A parameter of a distribution is out of range.
    #[error(
        "switch {switch}: {distribution} inter-arrival times with {parameter} {value} are \
         impossible; {parameter} must be {wanted}"
    )]
    Parameter {
        /// Index of the switch, from 0.
        switch: u32,
        /// Name of the distribution.
        distribution: &'static str,
        /// Name of the parameter.
        parameter: &'static str,
        /// Its value.
        value: f64,
        /// Values that are possible, in words.
        wanted: &'static str,
    },
    /// Delays and windows add up to more than can be counted.
    #[error(
        "the traffic of a trial lasts {seconds} s; at most {max} s (a century) can be scheduled"
    )]
    TooLong {
        /// Length asked for.
        seconds: u64,
        /// Longest length possible.
        max: u64,
    },
    /// A file of inter-arrival times cannot be read.
    #[error("cannot read inter-arrival times from {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line of a file of inter-arrival times is no time.
    #[error("{}:{line}: {reason}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Line number, from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// A capture cannot be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A file was read, but its times make no schedule.
    #[error("{}: {reason}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}
