//! Records the packets that a script expects and those that the switch sends, by port. They are
//! compared at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::compare::{Expectation, Output, compare, in_order_of_expectations};
use super::run::{Options, Report};
use super::script::Pattern;
use super::{Failure, report};
use pipeline::RunError;

/// The expected packets and the packets sent during one run of a script.
pub(super) struct Books {
    pub(super) now: Duration,
    /// Whether a command was executed after the last packet. It is also true before the first
    /// packet.
    pub(super) after_command: bool,
    /// The number of the current batch of packets. A command ends a batch.
    batch: usize,
    pub(super) report: Report,
    expected: BTreeMap<u32, Vec<Expectation>>,
    got: BTreeMap<u32, Vec<Output>>,
    /// The ports that the script mentions. Packets on other ports are ignored, unless
    /// [`Options::every_port`] is set.
    ports: BTreeSet<u32>,
    /// The packets that the previous packet caused: the port of each, and its position in `got`.
    last_outputs: Vec<(u32, usize)>,
    /// The lines of the packets for which the switch sent nothing.
    gone: Vec<usize>,
    /// Whether the script has any `expect` or `no_packet` statement.
    expects: bool,
}

impl Books {
    pub(super) fn new() -> Self {
        Self {
            now: Duration::ZERO,
            after_command: true,
            batch: 0,
            report: Report::default(),
            expected: BTreeMap::new(),
            got: BTreeMap::new(),
            ports: BTreeSet::new(),
            last_outputs: Vec::new(),
            gone: Vec::new(),
            expects: false,
        }
    }

    /// Records a packet of the script, and advances the time to its arrival at the switch.
    pub(super) fn arrives(&mut self, port: u32, data: &[u8]) {
        self.ports.insert(port);
        self.now += Duration::from_millis(if self.after_command { 1000 } else { 1 });
        self.batch += usize::from(self.after_command);
        self.after_command = false;
        self.report.received.push((self.now, port, data.to_vec()));
        self.last_outputs.clear();
    }

    /// Records the packets that the switch sends because of the packet at `line`. Each comes with
    /// its port, its bytes, and whether the switch recirculated, resubmitted or cloned it.
    pub(super) fn leaves(&mut self, line: usize, outputs: Vec<(u32, Vec<u8>, bool)>) {
        if outputs.is_empty() {
            self.gone.push(line);
        }
        // Several packets arrive before the first of a burst leaves.
        self.last_outputs.clear();
        for (port, packet, went_round) in outputs {
            self.report.sent.push((self.now, port, packet.clone()));
            self.report.causes.push(line);
            let of_port = self.got.entry(port).or_default();
            self.last_outputs.push((port, of_port.len()));
            of_port.push(Output { cause: line, packet, batch: self.batch, went_round });
        }
    }

    /// Records that the program could not process the packet at `line`, so that it caused none.
    pub(super) fn fails(&mut self, line: usize, error: RunError) {
        self.last_outputs.clear();
        self.report.failures.push(Failure::Run { line, error });
    }

    pub(super) fn expect(&mut self, line: usize, port: u32, pattern: Option<Pattern>) {
        self.expects = true;
        self.ports.insert(port);
        self.expected.entry(port).or_default().push(Expectation { line, pattern });
    }

    /// Records a failure for each packet that the previous packet caused, because the script
    /// expects none.
    pub(super) fn no_packet(&mut self) {
        self.expects = true;
        // Outputs are removed from the end, so that the earlier positions stay valid.
        for (port, position) in std::mem::take(&mut self.last_outputs).into_iter().rev() {
            let Some(of_port) = self.got.get_mut(&port) else { continue };
            if position < of_port.len() {
                let output = of_port.remove(position);
                self.report.failures.push(Failure::Unexpected {
                    port,
                    got: output.packet,
                    cause: output.cause,
                });
            }
        }
    }

    /// Compares the packets that the switch sent with those that the script expects. Returns the
    /// report of the run.
    pub(super) fn finish(mut self, options: Options) -> Report {
        if !self.expects {
            // A script without expectations is run to see what becomes of its packets.
            let gone = self.gone.iter();
            let notes = gone.map(|line| (*line, "the packet left by no port".to_owned()));
            self.report.notes.extend(notes);
        }
        let mut failures = Vec::new();
        for port in &self.ports {
            let expected = self.expected.get(port).map_or(&[][..], Vec::as_slice);
            let got = self.got.get(port).map_or(&[][..], Vec::as_slice);
            let takes_any = expected.iter().find(|expected| expected.pattern.is_none());
            if let (Some(any), false) = (takes_any, options.strict) {
                if got.is_empty() {
                    let text = format!(
                        "no packet left by {}; an `expect` without data accepts any number of packets",
                        self.report.port(*port)
                    );
                    self.report.notes.push((any.line, text));
                }
                continue;
            }
            let reordered = match options.strict {
                true => None,
                false => in_order_of_expectations(expected, got),
            };
            compare(*port, expected, reordered.as_deref().unwrap_or(got), &mut failures);
        }
        for (port, outputs) in self.got.iter().filter(|(port, _)| !self.ports.contains(port)) {
            for output in outputs {
                if options.every_port {
                    failures.push(Failure::Unexpected {
                        port: *port,
                        got: output.packet.clone(),
                        cause: output.cause,
                    });
                } else {
                    let text = format!(
                        "this packet left by {}, which the script does not name: {}",
                        self.report.port(*port),
                        report::hex(&output.packet)
                    );
                    self.report.notes.push((output.cause, text));
                }
            }
        }
        self.report.failures.append(&mut failures);
        self.report
    }
}
