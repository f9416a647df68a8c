//! What a switch says of itself, line by line.

use pipeline::{Event, Trace};
use std::fmt::Display;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// How much is said, in the words of BMv2's `--log-level`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Nothing.
    Off,
    /// What went wrong.
    Error,
    /// What may be wrong: packets that end in a fault, ports that go down.
    Warn,
    /// What changes: controllers, pipelines, ports.
    #[default]
    Info,
    /// What happens to each packet: its tables, entries and actions.
    Debug,
    /// And what a program reads and writes.
    Trace,
}

/// Where lines go. They are whole, whoever writes them.
pub struct Log {
    verbosity: Verbosity,
    /// How many bytes of packets that come and leave are shown, if any.
    packet_bytes: usize,
    sink: Mutex<Box<dyn Write + Send>>,
}

impl Log {
    /// Lines up to this verbosity go to `sink`.
    #[must_use]
    pub fn new(verbosity: Verbosity, sink: Box<dyn Write + Send>) -> Self {
        Self { verbosity, packet_bytes: 0, sink: Mutex::new(sink) }
    }

    /// Shows the first bytes, at most so many, of packets as they come and as they leave, whatever the verbosity but
    /// `Off`: BMv2's `--dump-packet-data`.
    #[must_use]
    pub fn showing_packets(self, bytes: usize) -> Self {
        Self { packet_bytes: bytes, ..self }
    }

    /// No lines.
    #[must_use]
    pub fn off() -> Self {
        Self::new(Verbosity::Off, Box::new(std::io::sink()))
    }

    /// Whether lines of this kind are wanted.
    #[must_use]
    pub fn wants(&self, verbosity: Verbosity) -> bool {
        verbosity <= self.verbosity
    }

    /// Whether there is a line for each packet.
    pub(crate) fn shows_packets(&self) -> bool {
        self.packet_bytes > 0 || self.wants(Verbosity::Debug)
    }

    /// Shows packets where that was asked for; `way` is the sentence around the length of each and its port.
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
        // Nor is a line wanted where the verbosity is `Off`.
        if self.verbosity == Verbosity::Off {
            return;
        }
        let length = packet.len();
        let shown = packet.get(..self.packet_bytes).unwrap_or(packet);
        let bytes: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
        let said = format_args!("device {device}: {did} {length} bytes {by} port {port}: {bytes}");
        self.line(self.verbosity, said);
    }

    /// Writes a line, if wanted. A sink that fails is no reason to stop forwarding.
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

/// Tells what happens to one packet.
pub(crate) struct PacketLog<'a> {
    pub(crate) log: &'a Log,
    pub(crate) device: u64,
}

impl Trace for PacketLog<'_> {
    fn event(&mut self, event: Event) {
        let verbosity = match event {
            Event::Assign { .. } | Event::Emit { .. } | Event::State { .. } => Verbosity::Trace,
            _ => Verbosity::Debug,
        };
        if self.log.wants(verbosity) {
            self.log.line(verbosity, format_args!("device {}: {event}", self.device));
        }
    }
}
