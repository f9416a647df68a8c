//! The evidence: the observations of a trial from which its account and verdict are computed.

use crate::config::Mode;
use crate::engine::Recorder;
use crate::engine::intervals::Intervals;
use crate::kernel::{Spell, Summary};
use crate::ledger::{Hindered, InWindow, Window};
use crate::outcome::{Counts, Latency, Silence, SwitchOutcome};

/// A number at the start and at the end of the window, which is the measured part of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Edges {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Edges {
    /// Returns the growth of the number, or 0 if it fell.
    pub(crate) fn growth(self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

/// The state of the kernel's TCP sockets during a trial. Bytes are converted to numbers of
/// packet-ins and answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct InSockets {
    /// The number of answers in the probe's sockets that the probe had not read yet.
    pub(crate) unread: Edges,
    /// The number of packet-ins in the probe's sockets or in the network, over the connections
    /// whose peer accepted more data.
    pub(crate) on_their_way: Edges,
    /// The share of the refused packet-ins for which the network is responsible and not the
    /// controller, because the controller's TCP receive window was open while they waited.
    pub(crate) refused_by_network: f64,
    /// The share of the time for which TCP receive windows of the controller were closed, as a mean
    /// over all connections.
    pub(crate) closed: f64,
    /// The periods in which TCP receive windows of the probe itself were closed, or may have been.
    pub(crate) spells: Vec<Spell>,
    /// The number of retransmitted TCP segments.
    pub(crate) retransmissions: u64,
}

impl InSockets {
    /// Converts numbers of bytes in sockets to numbers of packet-ins and answers. The mean size of
    /// a packet-in is the number of bytes written in the window divided by the number of packet-ins
    /// that were sent in it. The mean size of an answer is computed in the same way from the bytes
    /// read.
    pub(crate) fn of(summary: &Summary, in_window: InWindow, window: Window) -> Self {
        let scaled = |edges: Edges, bytes: u64, count: u64| {
            let part = |held: u64| {
                let held = u128::from(held) * u128::from(count) / u128::from(bytes.max(1));
                u64::try_from(held).unwrap_or(u64::MAX)
            };
            Edges { start: part(edges.start), end: part(edges.end) }
        };
        let share = |part: u64, all: u64| if all == 0 { 0.0 } else { part as f64 / all as f64 };
        let time = window.to.saturating_sub(window.from).saturating_mul(summary.connections);
        Self {
            unread: scaled(summary.unread, summary.read, in_window.answers),
            on_their_way: scaled(summary.on_their_way, summary.written, in_window.left),
            refused_by_network: share(
                summary.delayed,
                summary.delayed + summary.window_limited_bytes,
            ),
            closed: share(summary.window_limited, time),
            spells: summary.spells.clone(),
            retransmissions: summary.retransmissions,
        }
    }

    /// Returns the share of the window in which TCP receive windows of the probe were closed. Only
    /// the time between two consecutive samples that both found them closed is counted.
    pub(crate) fn probe_closed(&self, window: Window) -> f64 {
        let inside = |spell: &Spell| {
            spell.to.min(window.to).saturating_sub(spell.from.max(window.from)) as f64
        };
        let closed: f64 = self.spells.iter().filter(|spell| spell.is_closed).map(inside).sum();
        closed / window.to.saturating_sub(window.from).max(1) as f64
    }
}

/// The observations of all engine threads of a trial together. Engine threads send packet-ins and
/// read answers.
#[derive(Clone, Debug)]
pub(crate) struct Observed {
    pub(crate) intervals: Intervals,
    /// The number of answers that may have arrived before the start or the end of the window
    /// although the probe read them after it.
    pub(crate) read_after: Edges,
    pub(crate) hindered: Hindered,
    /// The longest time for which an engine thread did not run, in nanoseconds, or 0 if no such
    /// absence was as long as `recorder::ABSENCE`.
    pub(crate) absent: u64,
    /// The number of packet-ins that became due in the window while their engine thread did not
    /// run. Only times that lasted to the end of the window count.
    pub(crate) due_while_away_at_end: u64,
    /// The longest pause in answers that every engine thread saw, in nanoseconds. A pause of the
    /// controller is seen by every thread, so this is the minimum over the threads of the longest
    /// time between two answers. Threads without such a time are ignored.
    pub(crate) longest_gap: u64,
    /// The number of packet-ins over the whole trial that were answered.
    pub(crate) ever_answered: u64,
    /// The share of the window for which connections accepted no data, as a mean over all switches.
    pub(crate) blocked: f64,
}

impl Observed {
    /// Adds up the observations of several engine threads.
    pub(crate) fn of<'a>(recorders: impl Iterator<Item = &'a Recorder>, window: Window) -> Self {
        let mut all = Self {
            intervals: Intervals::new(window),
            read_after: Edges::default(),
            hindered: Hindered::default(),
            absent: 0,
            due_while_away_at_end: 0,
            longest_gap: u64::MAX,
            ever_answered: 0,
            blocked: 0.0,
        };
        let (mut blocked, mut switches) = (0, 0);
        for recorder in recorders {
            let tally = &recorder.tally;
            all.intervals.add(&tally.intervals);
            let [start, end] = tally.unread();
            all.read_after.start += start;
            all.read_after.end += end;
            all.absent = all.absent.max(recorder.absent());
            all.due_while_away_at_end +=
                due_before(&tally.intervals, window, recorder.away_at_end());
            // While the controller pauses, every thread sees a gap. A thread whose switches have no
            // answers sees none.
            if tally.longest_gap() > 0 {
                all.longest_gap = all.longest_gap.min(tally.longest_gap());
            }
            blocked += recorder.blocked();
            switches += recorder.switches.len() as u64;
            for record in &recorder.switches {
                let own = record.ledger.hindered();
                all.hindered.held_back += own.held_back;
                all.hindered.refused += own.refused;
                all.hindered.cut_off += own.cut_off;
                all.ever_answered += record.ledger.total_answered();
            }
        }
        let time = switches.saturating_mul(window.to.saturating_sub(window.from));
        all.blocked = blocked as f64 / time.max(1) as f64;
        if all.longest_gap == u64::MAX {
            all.longest_gap = 0;
        }
        all
    }
}

/// Returns the number of packet-ins that were due in the last `length` nanoseconds of the window.
/// The time is rounded up to whole intervals.
fn due_before(intervals: &Intervals, window: Window, length: u64) -> u64 {
    if length == 0 {
        return 0;
    }
    let end = intervals.place(window.to);
    let count = length.div_ceil(intervals.length()) as usize;
    let entries = intervals.entries().get(end.saturating_sub(count)..end).unwrap_or_default();
    entries.iter().map(|interval| interval.due - interval.handled - interval.cut_off).sum()
}

/// The CPU time that the probe used, and its number of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ProbeWork {
    /// The CPU time of the probe in percent of one core.
    pub(crate) cpu_percent: f64,
    /// The number of engine threads over all processes of the probe.
    pub(crate) threads: usize,
}

/// The CPU time that the controller used, and the time for which it waited for CPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ControllerWork {
    /// The CPU time of the controller in percent of one core.
    pub(crate) cpu_percent: f64,
    /// The time for which the controller's threads were runnable but waited for a core, summed over
    /// the threads, in percent of the elapsed time. `None` if it is unknown.
    pub(crate) wait_percent: Option<f64>,
}

/// Disturbances by the host on which the probe runs, such as stolen CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct HostWork {
    /// Whether the controller runs on the same host as the probe.
    pub(crate) has_controller: bool,
    /// The time within the window, in nanoseconds, for which the host stalled. During a stall, the
    /// host does not even wake a thread that only sleeps.
    pub(crate) stalled: u64,
    /// The share of the host's CPU time that a hypervisor gave to other virtual machines.
    pub(crate) stolen: f64,
}

/// The round-trip times of packet-ins that were due in the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times<'a> {
    pub(crate) all: &'a Latency,
    /// Lower bounds on the round-trip times, which leave out the delays that the probe may have
    /// caused: only packet-ins count that were answered while no late burst of the probe lengthened
    /// the controller's queue.
    pub(crate) undisturbed: &'a Latency,
}

/// The evidence from which the verdict on a trial is derived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence<'a> {
    pub(crate) mode: Mode,
    /// The measured part of the trial, up to the moment at which the trial ended if it ended early.
    pub(crate) window: Window,
    pub(crate) counts: &'a Counts,
    pub(crate) observed: &'a Observed,
    pub(crate) sockets: Option<&'a InSockets>,
    pub(crate) host: HostWork,
    /// The round-trip time through the network to the controller's host, in nanoseconds, or `None`
    /// if it is unknown.
    pub(crate) network_rtt: Option<u64>,
    pub(crate) send_lag: &'a Latency,
    /// The round-trip times of the answers in the window, from the moment at which the packet-ins
    /// were sent.
    pub(crate) rtt_from_sent: &'a Latency,
    /// The round-trip times of all packet-ins due in the window, and of those that the probe did
    /// not delay.
    pub(crate) times: Times<'a>,
    pub(crate) answers_in_window: u64,
    pub(crate) probe: ProbeWork,
    pub(crate) controller: Option<ControllerWork>,
    /// The time without answers at the end of the trial, if the controller stopped answering.
    pub(crate) silence: Option<&'a Silence>,
    pub(crate) switches: &'a [SwitchOutcome],
}

impl Evidence<'_> {
    /// Returns the number of packet-ins due in the window. It does not include packets that a flow
    /// rule of the switch forwards or drops, because they cause no packet-in.
    pub(crate) fn wanted(&self) -> u64 {
        self.counts.due.saturating_sub(self.counts.handled_by_rules())
    }

    /// Returns the length of the window in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        self.window.to.saturating_sub(self.window.from) as f64 / 1e9
    }

    /// Returns the number of packet-ins that were never sent although their connection would have
    /// accepted them, for which the probe is responsible.
    pub(crate) fn unsent_by_probe(&self) -> u64 {
        let Hindered { refused, cut_off, .. } = self.observed.hindered;
        self.counts.unsent.saturating_sub(refused + cut_off)
    }

    /// Returns an upper bound on the number of answers that had arrived and that the probe had not
    /// read, at the start and at the end of the window.
    pub(crate) fn unread(&self) -> Edges {
        let by_look = self.observed.read_after;
        let sockets = self.sockets.map(|sockets| sockets.unread).unwrap_or_default();
        Edges { start: by_look.start.max(sockets.start), end: by_look.end.max(sockets.end) }
    }

    /// Returns a lower bound on the growth, over the window, of the number of answers that had
    /// arrived and that the probe had not read.
    pub(crate) fn unread_at_least(&self) -> u64 {
        let sockets = self.sockets.map(|sockets| sockets.unread).unwrap_or_default();
        // An answer that was read soon after the edge waited only for one iteration of the probe's
        // loop, so it is subtracted.
        sockets.end.saturating_sub(self.unread().start).saturating_sub(self.observed.read_after.end)
    }

    /// Returns the number of packet-ins in the probe's sockets or in the network, at the start and
    /// at the end of the window.
    pub(crate) fn in_network(&self) -> Edges {
        self.sockets.map(|sockets| sockets.on_their_way).unwrap_or_default()
    }

    /// Returns the share of the packet-ins refused by connections for which the network is
    /// responsible and not the controller.
    pub(crate) fn refused_by_network(&self) -> f64 {
        self.sockets.map_or(0.0, |sockets| sockets.refused_by_network)
    }

    /// Returns the number of packet-ins that may have been delayed because the host, on which the
    /// controller runs too, stalled. It is 0 if the controller runs on another host.
    pub(crate) fn stalled(&self) -> u64 {
        match self.host.has_controller {
            true => {
                let rate = self.wanted() as f64 / self.seconds().max(f64::MIN_POSITIVE);
                (rate * self.host.stalled as f64 / 1e9) as u64
            }
            false => 0,
        }
    }
}
