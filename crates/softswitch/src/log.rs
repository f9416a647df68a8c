//! The log of a switch, line by line.

use pipeline::Detail;
use std::fmt::Display;
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use traces::{Contents, Format, Trace};

/// The verbosity of the log, named as in BMv2's `--log-level`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// No lines.
    Off,
    /// Errors only.
    Error,
    /// Possible problems in addition to errors: packets that end in a fault, ports that go down.
    Warn,
    /// Changes of controllers, pipelines and ports, in addition to the above.
    #[default]
    Info,
    /// The trace of each packet (its tables, entries and actions), in addition to the above.
    Debug,
    /// The verbose trace of each packet, with all values that a program writes.
    Trace,
}

/// A log that several threads write to. Each line is written as a whole.
pub struct Log {
    verbosity: Verbosity,
    /// The number of bytes that are shown of each received and transmitted packet.
    packet_bytes: usize,
    sink: Mutex<Box<dyn Write + Send>>,
    /// The sink to which the traces of all packets are written, and their format.
    traces: Option<(Format, Mutex<Box<dyn Write + Send>>)>,
    /// The largest number of outcomes in a trace, if traces show all outcomes that a packet could
    /// have. `None` if they show only what happens.
    outcomes: Option<u64>,
}

impl Log {
    /// Creates a log that writes lines up to this verbosity to `sink`.
    #[must_use]
    pub fn new(verbosity: Verbosity, sink: Box<dyn Write + Send>) -> Self {
        Self { verbosity, packet_bytes: 0, sink: Mutex::new(sink), traces: None, outcomes: None }
    }

    /// Makes the log show the first `bytes` bytes of each received and transmitted packet at every
    /// verbosity except `Off`. This is BMv2's `--dump-packet-data`.
    #[must_use]
    pub fn showing_packets(self, bytes: usize) -> Self {
        Self { packet_bytes: bytes, ..self }
    }

    /// Makes the log write the trace of each packet to `sink` as well, whatever its verbosity.
    #[must_use]
    pub fn with_traces(self, format: Format, sink: Box<dyn Write + Send>) -> Self {
        Self { traces: Some((format, Mutex::new(sink))), ..self }
    }

    /// Makes traces show all outcomes that a packet could have, up to `limit`. The packet itself is
    /// processed once. The other outcomes are only tried, so they have no effect on the switch.
    #[must_use]
    pub fn with_all_outcomes(self, limit: u64) -> Self {
        Self { outcomes: Some(limit), ..self }
    }

    /// Creates a log that writes nothing.
    #[must_use]
    pub fn off() -> Self {
        Self::new(Verbosity::Off, Box::new(std::io::sink()))
    }

    /// Returns whether lines of this verbosity are written.
    #[must_use]
    pub fn wants(&self, verbosity: Verbosity) -> bool {
        verbosity <= self.verbosity
    }

    /// Returns whether the log has a line for each packet.
    pub(crate) fn shows_packets(&self) -> bool {
        self.packet_bytes > 0 || self.wants_traces()
    }

    /// Returns whether the traces of packets are written.
    pub(crate) fn wants_traces(&self) -> bool {
        self.traces.is_some() || self.wants(Verbosity::Debug)
    }

    /// Returns what the traces of packets must contain.
    pub(crate) fn trace_contents(&self) -> Contents {
        Contents { detail: Detail::Values, outcomes: self.outcomes }
    }

    /// Writes the trace of a packet of a device. Errors of the sinks are ignored, like those of
    /// [`Self::line`].
    pub(crate) fn trace(&self, device: u64, trace: &Trace) {
        let verbosity = match self.wants(Verbosity::Trace) {
            true => Verbosity::Trace,
            false => Verbosity::Debug,
        };
        if self.wants(verbosity) {
            for line in traces::text(trace, verbosity == Verbosity::Trace).lines() {
                self.line(verbosity, format_args!("device {device}: {line}"));
            }
        }
        if let Some((format, sink)) = &self.traces {
            let named = Trace { origin: format!("device {device}"), ..trace.clone() };
            let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = sink.write_all(&format.bytes(&named)).and_then(|()| sink.flush());
        }
    }

    /// Logs the bytes of packets, if the log is configured to show them. `way` holds the words of a
    /// log line before the length of the packet, and those between its length and its port.
    #[inline]
    pub(crate) fn packets<'p>(
        &self,
        device: u64,
        way: [&str; 2],
        port: u32,
        packets: impl Iterator<Item = &'p [u8]>,
    ) {
        if self.packet_bytes > 0 {
            packets.for_each(|packet| self.show(device, way, port, packet));
        }
    }

    #[cold]
    fn show(&self, device: u64, [did, by]: [&str; 2], port: u32, packet: &[u8]) {
        // `packet_bytes` may be set even though the verbosity is `Off`.
        if self.verbosity == Verbosity::Off {
            return;
        }
        let length = packet.len();
        let shown = packet.get(..self.packet_bytes).unwrap_or(packet);
        let bytes: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
        let message =
            format_args!("device {device}: {did} {length} bytes {by} port {port}: {bytes}");
        self.line(self.verbosity, message);
    }

    /// Writes a line if its verbosity is enabled. Errors of the sink are ignored: they must not
    /// stop forwarding.
    pub fn line(&self, verbosity: Verbosity, text: impl Display) {
        if self.wants(verbosity) {
            let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = writeln!(sink, "[{}] {text}", letter(verbosity)).and_then(|()| sink.flush());
        }
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log").field("verbosity", &self.verbosity).finish_non_exhaustive()
    }
}

fn letter(verbosity: Verbosity) -> char {
    match verbosity {
        Verbosity::Off => '-',
        Verbosity::Error => 'E',
        Verbosity::Warn => 'W',
        Verbosity::Info => 'I',
        Verbosity::Debug => 'D',
        Verbosity::Trace => 'T',
    }
}
