//! The engine: the threads that run the emulated switches during a trial.
//!
//! All engine threads share one immutable [`TrialPlan`]. One more thread, the conductor, leads the
//! trial and sends orders to the engine threads. Each engine thread owns some of the switches with
//! everything that belongs to them, records what happens at them, and returns its record at the
//! end. A trial may be spread over several processes, called *ranks* as in MPI. Each rank then runs
//! a part of the switches.
//!
//! This module contains everything that the two protocols have in common: how threads are started,
//! when a thread sends, takes samples and ends ([`pace`], [`ending`]), and its record
//! ([`recorder`]). The protocols differ in their loops. OpenFlow switches are clients whose frames
//! this crate reads and writes itself, so one loop over a poller owns the connections and the
//! record alone. P4Runtime switches run on the gRPC server of the software switch, on an
//! asynchronous runtime, since HTTP/2 flow control decides when a message leaves. Their connections
//! take turns on the same thread with a task that sends packet-ins when they are due (the pacing
//! task).
//!
//! A P4Runtime packet-in takes two locks on its way, and threads very rarely wait for either. The
//! first protects the record: a controller may answer at a switch of another thread, and other
//! ranks deliver messages for switches of this one. The second protects the pacer ([`p4runtime`]'s
//! `pacer`): a connection that is polled before the pacing task sends the packet-ins that are due
//! in its place. Avoiding both locks would take single-threaded handles and queues in `p4runtime`
//! and `grpc`, in addition to the multi-threaded ones that the software switch needs. A second set
//! is not worth its cost, since a hundred ports send punctually enough with the locks
//! (docs/performance.md).

pub(crate) mod control;
pub(crate) mod ending;
pub(crate) mod intervals;
pub(crate) mod mailbox;
pub(crate) mod openflow;
pub(crate) mod p4runtime;
mod pace;
pub(crate) mod recorder;

use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::{Config, FlowTables};
use crate::ledger::{Tally, Window};
use crate::schedule::SchedulePlan;
use crate::topology::Topology;
use crate::traffic::{FramePlan, FrameSource, Hosts, RunKey};

mod portion;

pub(crate) use control::{Live, Orders, nanos};
use ending::Ending;
pub(crate) use portion::Portion;
pub(crate) use recorder::Recorder;
use recorder::SwitchRecord;

/// The parameters of one trial that are fixed before it starts.
#[derive(Debug)]
pub(crate) struct TrialPlan {
    /// The configuration, with the rate and the number of switches of this trial.
    pub(crate) config: Config,
    pub(crate) seed: u64,
    /// The key that distinguishes packets of this trial from those of other trials.
    pub(crate) run_key: RunKey,
    pub(crate) threads: usize,
    /// The switches that this rank runs. Also contains the number of ranks among which the switches
    /// of the trial are divided.
    pub(crate) portion: Portion,
    /// The number of consecutive switches that must belong to the same thread because they share a
    /// listening socket.
    pub(crate) group: u32,
    pub(crate) topology: Topology,
    pub(crate) hosts: Hosts,
    pub(crate) frames: FramePlan,
    /// The due times of all packet-ins. `None` in a closed loop and in a flood, which have no
    /// schedule.
    pub(crate) schedule: Option<SchedulePlan>,
}

impl TrialPlan {
    /// Returns the index of the thread that owns a switch, and the index of the switch within that
    /// thread. For a switch of another rank, the result is the number of threads and `usize::MAX`,
    /// neither of which is a valid index.
    pub(crate) fn place(&self, switch: u32) -> (usize, usize) {
        let (threads, group) = (self.threads.max(1), self.group.max(1));
        if !self.portion.switches.contains(&switch) {
            return (threads, usize::MAX);
        }
        let switch = switch - self.portion.switches.start;
        let (server, within) = ((switch / group) as usize, (switch % group) as usize);
        (server % threads, server / threads * group as usize + within)
    }

    /// Returns the core that is reserved for an engine thread, or `None` if no cores are reserved.
    pub(crate) fn core_of(&self, thread: usize) -> Option<usize> {
        self.config.isolate.then(|| crate::cores::core_of(thread, self.threads)).flatten()
    }

    /// Returns the switches that a thread owns, by their indices in the whole trial.
    pub(crate) fn members(&self, thread: usize) -> impl Iterator<Item = u32> + Clone + use<> {
        let (threads, group) = (self.threads.max(1), self.group.max(1));
        let switches = self.portion.switches.clone();
        let start = switches.start;
        switches.filter(move |switch| ((switch - start) / group) as usize % threads == thread)
    }

    /// Returns the largest number of packet-ins whose times a thread remembers while they wait for
    /// an answer.
    pub(crate) fn place_limit(&self) -> usize {
        let threads = self.threads.saturating_mul(self.portion.of as usize).max(1);
        self.config.traffic.outstanding_limit.div_ceil(threads)
    }

    /// Returns the measured part of the trial, in nanoseconds since the start of traffic.
    pub(crate) fn window(&self) -> Window {
        let timing = &self.config.timing;
        let from = nanos(timing.warm_up);
        Window { from, to: from.saturating_add(nanos(timing.measure)) }
    }

    /// Creates the empty record of a thread.
    fn recorder(&self, thread: usize) -> Recorder {
        self.recorder_of(self.members(thread))
    }

    /// Creates an empty record for the given switches.
    pub(crate) fn recorder_of(&self, members: impl Iterator<Item = u32>) -> Recorder {
        let traffic = &self.config.traffic;
        let limit = self.place_limit();
        let tally = Tally::new(self.window(), nanos(traffic.late_after), limit);
        let detailed = self.config.switches.count <= recorder::DETAIL_LIMIT;
        Recorder::new(tally, members, detailed, nanos(self.config.timing.sample))
    }

    /// Returns the condition under which an engine thread has finished its part of the trial.
    pub(crate) fn ending(&self) -> Ending {
        Ending::new(self.window().to, self.config.timing.drain)
    }

    /// Returns the time in nanoseconds from the start of settling, which is the phase before
    /// traffic, until the first host announces itself by ARP.
    pub(crate) fn introduction_delay(&self) -> u64 {
        match self.config.switches.flow_tables {
            FlowTables::Bypass => 0,
            // Until the controller has installed its rules, a switch drops the announcements.
            FlowTables::Run => nanos(self.config.timing.settle) / 2,
        }
    }

    /// Returns the time in nanoseconds over which the announcements of all hosts are spread. If all
    /// were sent at the same time, they would overload a controller that floods each of them to all
    /// ports: ONOS, for example, sends tens of thousands of packet-outs for a hundred hosts.
    pub(crate) fn introductions(&self) -> u64 {
        const PER_SECOND: u64 = 100;
        const LONGEST: u64 = 10_000_000_000;
        if !self.config.traffic.arp_first {
            return 0;
        }
        (u64::from(self.hosts.count()) * (1_000_000_000 / PER_SECOND)).min(LONGEST)
    }

    /// Returns the time at which the host `number` of a switch announces itself, in nanoseconds
    /// since the start of settling.
    pub(crate) fn introduction_of(&self, switch: u32, number: u32) -> u64 {
        let place = u64::from(switch * self.hosts.per_switch() + number);
        let share = u128::from(self.introductions()) * u128::from(place);
        let after = share / u128::from(self.hosts.count().max(1));
        self.introduction_delay().saturating_add(u64::try_from(after).unwrap_or(u64::MAX))
    }

    /// Returns the least time in nanoseconds between two connection attempts of one thread.
    pub(crate) fn dial_spacing(&self) -> u64 {
        let threads = self.threads as f64 * f64::from(self.portion.of);
        (threads * 1e9 / self.config.switches.connect_rate) as u64
    }

    /// Returns the generator of a switch's frames, or `None` if there is no such switch.
    pub(crate) fn source(&self, switch: u32) -> Option<FrameSource> {
        self.frames.source(switch, &self.hosts, self.seed, self.run_key)
    }

    /// Returns whether a switch may send at the time `at`, in nanoseconds since the start of
    /// traffic. Start and stop delays exclude times at the start and at the end.
    pub(crate) fn is_active(&self, switch: u32, at: u64) -> bool {
        let stagger = self.config.timing.start_stagger.saturating_mul(switch);
        let (mut start, mut stop) = (Duration::ZERO, Duration::ZERO);
        for item in &self.config.switches.overrides {
            if (item.first..=item.last).contains(&switch) {
                start = item.start_delay.unwrap_or(start);
                stop = item.stop_delay.unwrap_or(stop);
            }
        }
        let from = nanos(start.saturating_add(stagger));
        let to = self.window().to.saturating_sub(nanos(stop));
        (from..to).contains(&at)
    }
}

/// The order in which the hosts of a thread's switches announce themselves, and the hosts that have
/// yet to do so.
#[derive(Debug, Default)]
pub(crate) struct Introductions {
    /// The time at which announcements began, on the trial's clock, or `None` before that.
    since: Option<u64>,
    /// The host that announces itself next: the index of its switch within the thread, and its
    /// number among the hosts of that switch.
    next: (usize, u32),
}

impl Introductions {
    /// Returns the hosts that must announce themselves by `now` and have not been returned before.
    /// Each is given by the index of its switch in `switches` and its number among the hosts of
    /// that switch. The first call begins the announcements.
    pub(crate) fn due(
        &mut self,
        plan: &TrialPlan,
        switches: &[SwitchRecord],
        now: u64,
    ) -> Vec<(usize, u32)> {
        let since = *self.since.get_or_insert(now);
        let mut due = Vec::new();
        if !plan.config.traffic.arp_first || plan.hosts.per_switch() == 0 {
            return due;
        }
        while let Some(record) = switches.get(self.next.0) {
            let (place, number) = self.next;
            if since.saturating_add(plan.introduction_of(record.index, number)) > now {
                break;
            }
            due.push((place, number));
            self.next = match number + 1 < plan.hosts.per_switch() {
                true => (place, number + 1),
                false => (place + 1, 0),
            };
        }
        due
    }
}

/// The progress of a switch's handshake with the controller.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SwitchHandshake {
    pub(crate) ready: bool,
    /// The position of the most advanced stage among the handshake's stages, or 0 until a
    /// connection exists.
    pub(crate) rank: u32,
    /// The most advanced stage that the switch has reached, as text for the report.
    pub(crate) stage: String,
    /// The last error of the connection, as text for the report.
    pub(crate) error: Option<String>,
    /// The name of the switch's P4Runtime pipeline. Two pipelines have the same name only if they
    /// are equal.
    pub(crate) pipeline: Option<String>,
}

impl SwitchHandshake {
    /// Records that the switch has reached a stage, unless it has reached a later one before.
    pub(crate) fn reach(&mut self, rank: u32, stage: &str) {
        if rank >= self.rank && self.stage != stage {
            self.rank = rank;
            stage.clone_into(&mut self.stage);
        }
    }
}

/// The record of an engine thread, and the handshake of each of its switches.
pub(crate) type ThreadOutcome = (Recorder, Vec<SwitchHandshake>);

/// The engine threads of a trial, and the senders of their mailboxes in the same order.
pub(crate) type Started = (Vec<JoinHandle<io::Result<ThreadOutcome>>>, Vec<mailbox::Slot>);

/// Starts an engine thread, on its reserved core if it has one.
fn spawn(
    plan: &TrialPlan,
    orders: &Arc<Orders>,
    thread: usize,
    run: impl FnOnce() -> io::Result<ThreadOutcome> + Send + 'static,
) -> io::Result<JoinHandle<io::Result<ThreadOutcome>>> {
    let core = plan.core_of(thread);
    let running = orders.running();
    std::thread::Builder::new().name(format!("switches-{thread}")).spawn(move || {
        let _running = running;
        core.map(crate::cores::claim);
        // By default, the kernel may delay the end of every sleep by 50 us (timer slack).
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        run()
    })
}
