//! The threads that make emulated switches talk.
//!
//! A trial has one [`TrialPlan`], which every engine thread shares and nobody changes, and a set of
//! orders from the conductor. Each thread owns a share of the switches with everything that
//! belongs to them, keeps its own books and hands them over at the end.
//!
//! What is the same for both protocols is here: how threads are started, when a thread does what ([`pace`]), the books
//! ([`recorder`]), the end ([`ending`]). What differs is the loop. OpenFlow switches are clients whose frames this crate
//! reads and writes itself, so that one loop over a poller owns connections and books alone. P4Runtime switches are the
//! gRPC server that the software switch is too, on an asynchronous runtime, since HTTP/2 flow control decides when a
//! message leaves; its connections take turns with a pacing task on the same thread.
//!
//! Two locks are on its way, and no thread waits for either but by rare chance. The books': a controller may answer at a
//! switch of another thread, and other ranks bring what is for switches here. The pacer's: a connection whose turn comes
//! hands over first what is due ([`p4runtime`]'s `pacer`). To own both would take handles and outboxes for one thread
//! beside those that the software switch needs for many, in `p4runtime` and `grpc`: a second transport, where the lag of
//! a hundred ports holds its goal with this one (docs/performance.md).

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

/// Everything about one trial that is fixed before it starts.
#[derive(Debug)]
pub(crate) struct TrialPlan {
    /// With the rate and the number of switches of this trial.
    pub(crate) config: Config,
    pub(crate) seed: u64,
    /// Tells packets of this trial from those of others.
    pub(crate) run_key: RunKey,
    pub(crate) threads: usize,
    /// The switches of this process, and how many processes share all of them.
    pub(crate) portion: Portion,
    /// Consecutive switches that belong to one thread, since they share a listener.
    pub(crate) group: u32,
    pub(crate) topology: Topology,
    pub(crate) hosts: Hosts,
    pub(crate) frames: FramePlan,
    /// Due times; absent unless the loop is open.
    pub(crate) schedule: Option<SchedulePlan>,
}

impl TrialPlan {
    /// The thread that owns a switch, and the switch's index there. Behind the last thread is where
    /// the switches of other ranks are.
    pub(crate) fn place(&self, switch: u32) -> (usize, usize) {
        let (threads, group) = (self.threads.max(1), self.group.max(1));
        if !self.portion.switches.contains(&switch) {
            return (threads, usize::MAX);
        }
        let switch = switch - self.portion.switches.start;
        let (server, within) = ((switch / group) as usize, (switch % group) as usize);
        (server % threads, server / threads * group as usize + within)
    }

    /// The core that a thread has for itself, if it is to have one.
    pub(crate) fn core_of(&self, thread: usize) -> Option<usize> {
        self.config.isolate.then(|| crate::cores::core_of(thread, self.threads)).flatten()
    }

    /// The switches that a thread owns.
    pub(crate) fn members(&self, thread: usize) -> impl Iterator<Item = u32> + Clone + use<> {
        let (threads, group) = (self.threads.max(1), self.group.max(1));
        let switches = self.portion.switches.clone();
        let start = switches.start;
        switches.filter(move |switch| ((switch - start) / group) as usize % threads == thread)
    }

    /// Packet-ins whose times a thread remembers.
    pub(crate) fn place_limit(&self) -> usize {
        let threads = self.threads.saturating_mul(self.portion.of as usize).max(1);
        self.config.traffic.outstanding_limit.div_ceil(threads)
    }

    /// The measured part, in nanoseconds since the start of traffic.
    pub(crate) fn window(&self) -> Window {
        let timing = &self.config.timing;
        let from = nanos(timing.warm_up);
        Window { from, to: from.saturating_add(nanos(timing.measure)) }
    }

    /// The empty books of a thread.
    fn recorder(&self, thread: usize) -> Recorder {
        self.recorder_of(self.members(thread))
    }

    /// The empty books of some switches.
    pub(crate) fn recorder_of(&self, members: impl Iterator<Item = u32>) -> Recorder {
        let traffic = &self.config.traffic;
        let limit = self.place_limit();
        let tally = Tally::new(self.window(), nanos(traffic.late_after), limit);
        let detailed = self.config.switches.count <= recorder::DETAIL_LIMIT;
        Recorder::new(tally, members, detailed, nanos(self.config.timing.sample))
    }

    /// When there is nothing more to wait for, for one engine thread.
    pub(crate) fn ending(&self) -> Ending {
        Ending::new(self.window().to, self.config.timing.drain)
    }

    /// Nanoseconds from the beginning of the time to settle until hosts announce themselves.
    pub(crate) fn introduction_delay(&self) -> u64 {
        match self.config.switches.flow_tables {
            FlowTables::Bypass => 0,
            // Without the controller's rules a switch would drop the announcements.
            FlowTables::Run => nanos(self.config.timing.settle) / 2,
        }
    }

    /// For how many nanoseconds hosts announce themselves one after the other. At once they would be
    /// a load that no schedule has: a controller that floods announcements, as ONOS does, sends
    /// tens of thousands of packet-outs for a hundred hosts.
    pub(crate) fn introductions(&self) -> u64 {
        const PER_SECOND: u64 = 100;
        const LONGEST: u64 = 10_000_000_000;
        if !self.config.traffic.arp_first {
            return 0;
        }
        (u64::from(self.hosts.count()) * (1_000_000_000 / PER_SECOND)).min(LONGEST)
    }

    /// When the host with that number of that switch announces itself, in nanoseconds since the
    /// beginning of the time to settle.
    pub(crate) fn introduction_of(&self, switch: u32, number: u32) -> u64 {
        let place = u64::from(switch * self.hosts.per_switch() + number);
        let share = u128::from(self.introductions()) * u128::from(place);
        let after = share / u128::from(self.hosts.count().max(1));
        self.introduction_delay().saturating_add(u64::try_from(after).unwrap_or(u64::MAX))
    }

    /// Nanoseconds between two attempts of a thread to connect.
    pub(crate) fn dial_spacing(&self) -> u64 {
        let threads = self.threads as f64 * f64::from(self.portion.of);
        (threads * 1e9 / self.config.switches.connect_rate) as u64
    }

    /// What a switch sends; `None` if there is no such switch.
    pub(crate) fn source(&self, switch: u32) -> Option<FrameSource> {
        self.frames.source(switch, &self.hosts, self.seed, self.run_key)
    }

    /// Whether a switch may send at this moment, in nanoseconds since the start of traffic.
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

/// The hosts of a thread's switches that have still to announce themselves, in the order in which
/// they do.
#[derive(Debug, Default)]
pub(crate) struct Introductions {
    since: Option<u64>,
    /// Place among the thread's switches, and number of the host there.
    next: (usize, u32),
}

impl Introductions {
    /// The hosts whose turn has come at `now`, as places of `switches` and numbers. The first call
    /// is the beginning.
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

/// How far one switch came with its handshake.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SwitchHandshake {
    pub(crate) ready: bool,
    /// 0 until a connection is there.
    pub(crate) rank: u32,
    /// The furthest stage reached, in words.
    pub(crate) stage: String,
    /// The last error, in words.
    pub(crate) error: Option<String>,
    /// The pipeline that it has, in a few words that are the same for equal pipelines alone
    /// (P4Runtime).
    pub(crate) pipeline: Option<String>,
}

impl SwitchHandshake {
    /// Notes a stage; a stage of lower rank than one reached before is not news.
    pub(crate) fn reach(&mut self, rank: u32, stage: &str) {
        if rank >= self.rank && self.stage != stage {
            self.rank = rank;
            stage.clone_into(&mut self.stage);
        }
    }
}

/// What an engine thread hands over at the end.
pub(crate) type Books = (Recorder, Vec<SwitchHandshake>);

/// The threads of an engine, and the ways to them.
pub(crate) type Started = (Vec<JoinHandle<io::Result<Books>>>, Vec<mailbox::Slot>);

/// Starts an engine thread, on the core that it is to have for itself.
fn spawn(
    plan: &TrialPlan,
    orders: &Arc<Orders>,
    thread: usize,
    run: impl FnOnce() -> io::Result<Books> + Send + 'static,
) -> io::Result<JoinHandle<io::Result<Books>>> {
    let core = plan.core_of(thread);
    let running = orders.running();
    std::thread::Builder::new().name(format!("switches-{thread}")).spawn(move || {
        let _running = running;
        core.map(crate::cores::claim);
        // The default slack of 50 us would be added to every sleep.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        run()
    })
}
