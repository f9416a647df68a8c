//! Records the packets that a script expects and those that the switch sends, by port. They are
//! compared when the script ends.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::time::Duration;

use super::checks::{Check, Departed, Outcome, Tally};
use super::compare::{Expectation, Output, compare, in_order_of_expectations};
use super::outcome::{Options, Report};
use super::script::{Arrivals, Pattern};
use super::{Failure, StfError, report};
use pipeline::RunError;

/// The expected packets and the packets sent during one run of a script.
pub(super) struct PacketRecord {
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
    /// The packets that the previous packet of the script caused: for each, its port and its
    /// position in `got`.
    last_outputs: Vec<(u32, usize)>,
    /// The lines of the packets because of which the switch sent nothing.
    gone: Vec<usize>,
    /// The line of the last packet of the script.
    pub(super) last_line: Option<usize>,
    /// The arrival times of the next packet, as an `at` statement has set them.
    next: Option<Arrivals>,
    /// The lines of packets that must not leave by any port (`no_packet`). Copies of them may still
    /// be in queues.
    silent: BTreeSet<usize>,
    /// Whether the script has any `expect` or `no_packet` statement.
    expects: bool,
    /// The checks of delays and of numbers of packets.
    tallies: Vec<Tally>,
    /// The packets of sources, grouped by the line of the source and by a text that describes what
    /// became of them.
    fates: BTreeMap<(usize, String), Fate>,
    /// The hash of the packets that switches sent because of the packets of sources.
    hash: DefaultHasher,
}

/// The packets of a source that ended in the same way.
struct Fate {
    packets: u64,
    /// The smallest and the largest delay of the packets that have waited in a queue.
    delays: Option<(Duration, Duration)>,
}

impl PacketRecord {
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
            last_line: None,
            next: None,
            silent: BTreeSet::new(),
            expects: false,
            tallies: Vec::new(),
            fates: BTreeMap::new(),
            hash: DefaultHasher::new(),
        }
    }

    /// Adds a check of the packets that cross a network.
    pub(super) fn check(&mut self, line: usize, check: &Check) {
        self.tallies.push(Tally::new(line, check.clone()));
    }

    /// Counts a packet that leaves a network in all checks that concern it.
    pub(super) fn measure(&mut self, departed: &Departed<'_>) {
        for tally in &mut self.tallies {
            tally.count(departed);
        }
    }

    /// Adds to the hash what a switch sends because of a packet of a source.
    pub(super) fn hash_sent(&mut self, sent: impl Hash) {
        sent.hash(&mut self.hash);
        self.report.source_hash = self.hash.finish();
    }

    /// Counts a packet of the source at `line`. `text` describes what became of it, and `delay` is
    /// its delay if it has waited in a queue.
    pub(super) fn fate(&mut self, line: usize, text: String, delay: Option<Duration>) {
        let fate = self.fates.entry((line, text)).or_insert(Fate { packets: 0, delays: None });
        fate.packets += 1;
        if let Some(delay) = delay {
            let (least, most) = fate.delays.unwrap_or((delay, delay));
            fate.delays = Some((least.min(delay), most.max(delay)));
        }
    }

    /// Removes and returns the arrival times that the last `at` has set, for use by a source.
    /// Without an `at`, the source sends one packet at the time that the script has reached.
    pub(super) fn source_arrivals(&mut self) -> Arrivals {
        let now = Arrivals { first: self.now, every: Duration::ZERO, times: 1 };
        self.next.take().unwrap_or(now)
    }

    /// Advances the time to the next arrival that `at` has set. Returns false if there is none.
    pub(super) fn advance_to_arrival(&mut self) -> bool {
        let Some(Arrivals { first, every, times }) = self.next.take() else { return false };
        self.now = first;
        let first = first.saturating_add(every);
        self.next = (times > 1).then_some(Arrivals { first, every, times: times - 1 });
        true
    }

    /// Sets the times at which the packet of the next `packet` statement arrives.
    pub(super) fn at(&mut self, arrivals: Arrivals) -> Result<(), StfError> {
        if arrivals.first < self.now {
            return Err(StfError::BackInTime { at: arrivals.first, now: self.now });
        }
        self.next = Some(arrivals);
        Ok(())
    }

    /// Advances the time to `at`, at which the next statement takes effect.
    pub(super) fn pass_to(&mut self, at: Duration) -> Result<(), StfError> {
        if at < self.now {
            return Err(StfError::BackInTime { at, now: self.now });
        }
        if let Some(next) = self.next.filter(|next| next.first < at) {
            return Err(StfError::BackInTime { at: next.first, now: at });
        }
        self.now = at;
        Ok(())
    }

    /// Returns the number of times that the packet of the next `packet` statement arrives.
    pub(super) fn arrivals(&mut self) -> u32 {
        let times = self.next.map_or(1, |next| next.times);
        if times == 0 {
            // An `at` applies only to the next statement, even if that statement has no effect.
            self.next = None;
        }
        times
    }

    /// Records a packet of the script, and advances the time to its arrival at the switch.
    pub(super) fn arrives(&mut self, port: u32, data: &[u8]) {
        self.ports.insert(port);
        if !self.advance_to_arrival() {
            self.now += Duration::from_millis(if self.after_command { 1000 } else { 1 });
        }
        self.batch += usize::from(self.after_command);
        self.after_command = false;
        self.report.received.push((self.now, port, data.to_vec()));
        self.last_outputs.clear();
    }

    /// Records the packets that the switch sends because of the packet at `line`. Each has its
    /// port, its bytes, and a flag for whether the switch recirculated, resubmitted or cloned it.
    pub(super) fn leaves(&mut self, line: usize, outputs: Vec<(u32, Vec<u8>, bool)>) {
        if outputs.is_empty() {
            self.gone.push(line);
        }
        // In a burst, several packets arrive before the outputs of the first one leave.
        self.last_outputs.clear();
        for (port, packet, went_round) in outputs {
            self.report.sent.push((self.now, port, packet.clone()));
            self.report.causes.push(line);
            let of_port = self.got.entry(port).or_default();
            self.last_outputs.push((port, of_port.len()));
            of_port.push(Output { cause: line, packet, batch: self.batch, went_round });
        }
    }

    /// Records a packet that a network with queues sends at `time` because of the packet at `line`.
    /// It may leave after later packets of the script have arrived.
    pub(super) fn departs(&mut self, line: usize, time: Duration, port: u32, packet: Vec<u8>) {
        self.report.sent.push((time, port, packet.clone()));
        self.report.causes.push(line);
        if self.silent.contains(&line) {
            let failure = Failure::Unexpected { port, got: packet, cause: line };
            self.report.failures.push(failure);
            return;
        }
        // Queues reorder packets by fixed rules, so unlike on BMv2 the order is compared exactly.
        let output = Output { cause: line, packet, batch: self.batch, went_round: false };
        self.got.entry(port).or_default().push(output);
    }

    /// Records that the packet at `line` must not leave by any port, now or later.
    pub(super) fn no_packet_of(&mut self, line: usize) {
        self.expects = true;
        self.silent.insert(line);
        for (port, outputs) in &mut self.got {
            let (wrong, right) = outputs.drain(..).partition(|output| output.cause == line);
            let wrong: Vec<Output> = wrong;
            *outputs = right;
            for output in wrong {
                let Output { packet: got, cause, .. } = output;
                self.report.failures.push(Failure::Unexpected { port: *port, got, cause });
            }
        }
    }

    /// Records that the packet at `line` has ended without any copy of it leaving the network.
    pub(super) fn vanishes(&mut self, line: usize) {
        self.gone.push(line);
    }

    /// Records that the program failed to process the packet at `line`, which therefore caused no
    /// output.
    pub(super) fn fails(&mut self, line: usize, error: RunError) {
        self.last_outputs.clear();
        self.report.failures.push(Failure::Run { line, error });
    }

    pub(super) fn expect(&mut self, line: usize, port: u32, pattern: Option<Pattern>) {
        self.expects = true;
        self.ports.insert(port);
        self.expected.entry(port).or_default().push(Expectation { line, pattern });
    }

    /// Records a failure for each output packet that the previous packet caused, because the script
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

    /// Adds to the report what became of the packets of sources, and the results of checks.
    fn finish_measurements(&mut self) {
        for ((line, text), Fate { packets, delays }) in std::mem::take(&mut self.fates) {
            let packets = match packets {
                1 => "1 packet".to_owned(),
                packets => format!("{packets} packets"),
            };
            let delays = match delays {
                None => String::new(),
                Some((least, most)) if least == most => format!(" in {least:?}"),
                Some((least, most)) => format!(" in {least:?} to {most:?}"),
            };
            self.report.values.push((line, format!("{packets}: {text}{delays}")));
        }
        for tally in std::mem::take(&mut self.tallies) {
            let Outcome { found, violated } = tally.outcome(&|port| self.report.port(port));
            let line = tally.line;
            if let Some(expected) = violated {
                self.report.failures.push(Failure::Check { line, found, expected });
            } else {
                self.report.values.push((line, found));
            }
        }
    }

    /// Compares the packets that the switch sent with those that the script expects. Returns the
    /// report of the run.
    pub(super) fn finish(mut self, options: Options) -> Report {
        self.finish_measurements();
        if !self.expects {
            // A script without expectations is run to find out what becomes of its packets, so this
            // is reported.
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
