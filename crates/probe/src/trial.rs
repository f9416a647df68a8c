//! Runs one trial in its phases: connect, settle, warm up, measure, drain.
//!
//! The conductor is the code that leads the trial, on the caller's thread. It starts the engine
//! threads, which send packet-ins, and gives them orders. It samples the CPU time and memory of the
//! controller and the probe, and merges the records at the end. Every wait checks the interrupt
//! flag, so that an interrupted trial ends soon: only a request to the controller's REST interface
//! delays it, by a few seconds. A run may be spread over several processes, called *ranks* as in
//! MPI. The first of them leads the others.

mod assemble;
pub(crate) mod delays;
mod evidence;
mod notes;
mod remarks;
pub(crate) mod silence;
pub(crate) mod together;
mod unanswered;

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ranks::{Group, Rank};
use serde::{Deserialize, Serialize};

use crate::config::{Config, ProcessSelector, Protocol, Tls};
use crate::engine::control::Phase;
use crate::engine::mailbox::{Slot, mailbox};
use crate::engine::openflow::Dialler;
use crate::engine::{self, Live, Orders, Portion, ThreadOutcome, TrialPlan, nanos};
use crate::netcfg::{self, NetcfgError};
use crate::onos::Onos;
use crate::outcome::{Completion, Trial};
use crate::topology::Topology;
use crate::traffic::{FramePlan, Hosts, RunKey};
use crate::usage::{self, Sampler};
use assemble::UsageSeries;
pub(crate) use assemble::address;
use evidence::Surroundings;
use together::Together;

/// The parameters in which the trials of a run differ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TrialSetting {
    pub(crate) switches: u32,
    /// The number of packet-ins per second and switch.
    pub(crate) rate: f64,
    /// The number of the repetition of a trial with these parameters, from 1.
    pub(crate) repetition: u32,
    pub(crate) seed: u64,
}

/// The reason why a trial could not be set up or completed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrialError {
    /// The controller's host name cannot be resolved to an address.
    #[error("controller.address: cannot resolve `{address}`: {cause}")]
    Address {
        /// The controller's address as it was configured.
        address: String,
        /// The error of the resolver.
        cause: io::Error,
    },
    /// The topology requires other switches than those that are configured.
    #[error("{0}")]
    Topology(#[from] crate::topology::TopologyError),
    /// The emulated hosts cannot be attached to the switches.
    #[error("{0}")]
    Hosts(#[from] crate::traffic::HostsError),
    /// Frames cannot be generated from the configuration.
    #[error("{0}")]
    Frames(#[from] crate::traffic::FrameError),
    /// No schedule can be computed from the configuration.
    #[error("{0}")]
    Schedule(#[from] crate::schedule::ScheduleError),
    /// A file that announces the switches to the controller cannot be written.
    #[error("{file}: {cause}")]
    File {
        /// The path of the file.
        file: PathBuf,
        /// The error of the operating system.
        cause: io::Error,
    },
    /// ONOS does not accept the list of switches.
    #[error("{0}")]
    Announce(#[from] NetcfgError),
    /// ONOS lacks an application without which no switch becomes ready.
    #[error("{0}")]
    Onos(String),
    /// TLS cannot be set up.
    #[error("{0}")]
    Tls(String),
    /// The engine did not start, or one of its threads failed during the trial.
    #[error("{0}")]
    Engine(String),
}

/// The result of a trial.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) trial: Trial,
    /// A description of the controller's process, if its CPU time and memory were sampled.
    pub(crate) process: Option<String>,
}

/// The way in which a trial ended in this process, which may be one of several ranks.
#[derive(Debug)]
pub(crate) enum Concluded {
    /// The merged result of all ranks, which only the first rank returns.
    Trial(Box<Outcome>),
    /// This rank has sent its record to the first rank.
    HandedOver,
    /// The first rank ended the run, so that no further trial follows.
    Over,
}

/// Runs one trial to its end, or until `interrupt` becomes true. If there is a `group`, all its
/// ranks run the trial together.
pub(crate) fn run(
    config: &Config,
    setting: TrialSetting,
    live: &Arc<Live>,
    interrupt: &AtomicBool,
    group: Option<&mut Group>,
) -> Result<Concluded, TrialError> {
    let mut config = config.clone();
    config.switches.count = setting.switches;
    config.traffic.rate = setting.rate;
    let place = group.as_ref().map(|group| (group.rank(), group.size()));
    let plan = Arc::new(plan(config, setting, place)?);
    let orders = Arc::new(Orders::new());
    live.begin(plan.portion.len());
    live.enter(Phase::Connecting);
    let (slot, outbound) = mailbox().map_err(|error| TrialError::Engine(error.to_string()))?;
    let (threads, inbound) = start(&plan, &orders, live, place.map(|_| slot))?;
    // Only the first rank announces switches, and announces those of all ranks.
    let leads = place.is_none_or(|(rank, _)| rank == Rank::FIRST);
    let announced = if leads { announce(&plan.config, interrupt) } else { Ok(Vec::new()) };
    let announced = match announced {
        Ok(notes) => notes,
        Err(error) => {
            orders.stop();
            join(threads)?;
            return Err(error);
        }
    };
    let mut conductor = Conductor {
        plan: &plan,
        orders: &orders,
        live,
        interrupt,
        controller: None,
        own: Sampler::own().ok(),
        usage: UsageSeries::default(),
        surroundings: Surroundings::new(&plan),
        ready_after: None,
        notes: announced,
        together: group.map(|group| Together::new(group, orders.clock, outbound, inbound)),
    };
    let mut completion = conductor.conduct();
    let process = conductor.controller.as_ref().map(describe);
    if let Some(failure) = conductor.controller.as_ref().and_then(Sampler::failure) {
        conductor.notes.push(format!("The controller's CPU and memory are incomplete: {failure}"));
    } else if conductor.controller.is_some() && conductor.usage.missed_controller() {
        // The name may match a process later, when the controller has started.
        conductor.notes.push(
            "The controller's CPU and memory are unknown: no process matched controller.process."
                .into(),
        );
    }
    conductor.surroundings.has_controller =
        conductor.controller.as_ref().is_some_and(Sampler::has_local_processes);
    let Conductor { usage, surroundings, ready_after, mut notes, mut together, .. } = conductor;
    let seen = surroundings.close();
    if let (Completion::Failed { reason }, Some(onos)) = (&mut completion, Onos::of(&plan.config))
        && live.ready() < live.wanted()
        && !interrupt.load(Ordering::Relaxed)
        && let Some(cause) = onos.why_not_ready(&plan.config)
    {
        reason.push_str(&format!("; {cause}"));
    }
    let ready_at_end = live.ready();
    if let (Completion::Complete, true, Some(onos)) = (&completion, leads, Onos::of(&plan.config))
        && let Some(reason) = onos.other_pipeconfs(&plan.config)
    {
        completion = Completion::Partial { reason };
    }
    if let Some(together) = &mut together {
        together.end(&plan, &completion, interrupt.load(Ordering::Relaxed));
    }
    orders.stop();
    let threads = join(threads)?;
    if let (true, Some(onos)) =
        (leads && plan.config.controller.onos_forget, Onos::of(&plan.config))
    {
        notes.extend(onos.forget(&plan.config));
    }
    live.enter(Phase::Done);
    let seen = vec![seen];
    let parts = assemble::Parts { completion, threads, usage, seen, ready_after, ready_at_end };
    let Some(together) = together else {
        let trial = assemble::trial(&plan, setting, parts, notes);
        return Ok(Concluded::Trial(Box::new(Outcome { trial, process })));
    };
    Ok(together.conclude(&plan, setting, parts, notes, process, interrupt.load(Ordering::Relaxed)))
}

/// Computes the plan of a trial. If several ranks run the trial, `place` contains the number of
/// this rank and the number of all ranks.
pub(crate) fn plan(
    config: Config,
    setting: TrialSetting,
    place: Option<(Rank, u32)>,
) -> Result<TrialPlan, TrialError> {
    let topology = Topology::build(&config.topology, config.switches.count, config.switches.ports)?;
    let hosts = Hosts::new(&config.switches, &topology)?;
    let schedule = match config.traffic.mode {
        crate::config::Mode::Open => {
            Some(crate::schedule::SchedulePlan::new(&config, setting.seed)?)
        }
        _ => None,
    };
    let group = match config.protocol {
        Protocol::P4Runtime => config.p4runtime.devices_per_port.max(1),
        Protocol::OpenFlow10 | Protocol::OpenFlow13 => 1,
    };
    let portion = match place {
        Some((rank, of)) => Portion::new(config.switches.count, group, rank, of),
        None => Portion::whole(config.switches.count),
    };
    Ok(TrialPlan {
        threads: config.threads.clamp(1, portion.len().div_ceil(group).max(1) as usize),
        portion,
        group,
        seed: setting.seed,
        run_key: RunKey::new(setting.seed),
        frames: FramePlan::new(&config.traffic, &config.switches)?,
        config,
        topology,
        hosts,
        schedule,
    })
}

pub(crate) type Threads = Vec<JoinHandle<io::Result<ThreadOutcome>>>;

pub(crate) fn start(
    plan: &Arc<TrialPlan>,
    orders: &Arc<Orders>,
    live: &Arc<Live>,
    abroad: Option<Slot>,
) -> Result<(Threads, Vec<Slot>), TrialError> {
    match plan.config.protocol {
        Protocol::OpenFlow10 | Protocol::OpenFlow13 => {
            let dialler = dialler(&plan.config.controller.address, plan.config.tls.as_ref())?;
            engine::openflow::start(plan, orders, live, &dialler, abroad)
                .map_err(|error| TrialError::Engine(error.to_string()))
        }
        Protocol::P4Runtime => engine::p4runtime::start(plan, orders, live, abroad)
            .map_err(|error| TrialError::Engine(error.to_string())),
    }
}

/// Returns the parameters by which switches connect to an OpenFlow controller.
pub(crate) fn dialler(address: &str, tls: Option<&Tls>) -> Result<Dialler, TrialError> {
    let resolved = resolve(address)?;
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let tls = match tls {
        None => None,
        Some(tls) => Some(
            engine::openflow::client_config(tls, host.trim_matches(['[', ']']))
                .map_err(|error| TrialError::Tls(error.to_string()))?,
        ),
    };
    Ok(Dialler { address: resolved, tls })
}

fn resolve(address: &str) -> Result<SocketAddr, TrialError> {
    let failed = |cause| TrialError::Address { address: address.to_owned(), cause };
    address
        .to_socket_addrs()
        .map_err(failed)?
        .next()
        .ok_or_else(|| failed(io::Error::other("the name has no address")))
}

pub(crate) fn join(threads: Threads) -> Result<Vec<ThreadOutcome>, TrialError> {
    threads
        .into_iter()
        .map(|thread| match thread.join() {
            Ok(Ok(outcome)) => Ok(outcome),
            Ok(Err(error)) => Err(TrialError::Engine(format!("an engine thread failed: {error}"))),
            Err(_) => Err(TrialError::Engine("an engine thread panicked".into())),
        })
        .collect()
}

/// The conductor, which leads a trial through its phases.
struct Conductor<'a> {
    plan: &'a TrialPlan,
    orders: &'a Orders,
    live: &'a Live,
    /// Whether the user has requested that the trial end.
    interrupt: &'a AtomicBool,
    controller: Option<Sampler>,
    own: Option<Sampler>,
    usage: UsageSeries,
    surroundings: Surroundings,
    /// The time at which all switches were ready, in seconds on the trial's clock, or `None` if
    /// they were not.
    ready_after: Option<f64>,
    notes: Vec<String>,
    /// The other ranks, if there are any.
    together: Option<Together<'a>>,
}

/// The interval at which a condition for which the conductor waits is checked.
pub(crate) const POLL: Duration = Duration::from_millis(5);
/// The time without a flooded announcement after which the controller counts as having finished
/// flooding.
const QUIET: Duration = Duration::from_millis(300);
/// The longest time for which a trial waits until the controller has finished flooding.
const LONGEST_FLOOD: Duration = Duration::from_secs(30);
/// The time between the decision on the start of traffic and that start. It gives the engine
/// threads the time to notice the decision.
const HEAD_START: Duration = Duration::from_millis(50);

impl Conductor<'_> {
    /// Leads the trial through its phases, and returns how completely it was performed.
    fn conduct(&mut self) -> Completion {
        if let Some(together) = &mut self.together {
            together.compare_clocks(self.plan, true);
        }
        let connected = self.connect();
        if let Err(completion) = self.meet(together::Phase::Connect, connected) {
            return completion;
        }
        let timing = self.plan.config.timing;
        self.watch_controller();
        self.live.enter(Phase::Settling);
        self.orders.settle();
        let announced = self.orders.clock.now() + self.plan.introductions();
        for part in [nanos(timing.settle) / 2, nanos(timing.settle)] {
            // A sample covers the time since the previous one. The sample at the first packet-in
            // therefore covers the second half of settling, when announcements are over.
            let _ = self.controller.as_mut().and_then(|sampler| sampler.sample(Instant::now()));
            if self.wait_until(announced + part, |_| false) == Wait::Interrupted {
                return Completion::Failed { reason: "interrupted before traffic began".into() };
            }
        }
        let settled = announced + nanos(timing.settle);
        if self.wait_for_quiet(settled) == Wait::Interrupted {
            return Completion::Failed { reason: "interrupted before traffic began".into() };
        }
        let start = match self.agree_on_start() {
            Ok(start) => start,
            Err(completion) => return completion,
        };
        self.orders.start_traffic(start);
        let window = self.plan.window();
        self.sample(0);
        self.note_busy_controller();
        let phases = [(Phase::WarmingUp, window.from), (Phase::Measuring, window.to)];
        for (phase, end) in phases {
            self.live.enter(phase);
            let reached = self.traffic_until(start, end);
            self.surroundings.look_at_edge(self.orders.clock.now().saturating_sub(start));
            if reached == Wait::Interrupted {
                let at = self.orders.clock.now().saturating_sub(start);
                let reason = format!("interrupted {:.1} s after traffic began", at as f64 / 1e9);
                return Completion::Partial { reason };
            }
        }
        self.live.enter(Phase::Draining);
        // Only the engine threads can decide when draining is over, since they poll the sockets.
        let threads = self.plan.threads;
        let drained =
            self.wait_until(u64::MAX, |conductor| conductor.orders.are_satisfied(threads));
        match drained {
            Wait::Interrupted => {
                Completion::Partial { reason: "interrupted while draining".into() }
            }
            _ => self.completeness(),
        }
    }

    /// Returns the time at which traffic starts, on which all ranks agree.
    fn agree_on_start(&mut self) -> Result<u64, Completion> {
        self.meet(together::Phase::Settle, Ok(()))?;
        let soon = self.orders.clock.now() + nanos(HEAD_START);
        match &mut self.together {
            None => Ok(soon),
            Some(together) => together.begin(self.plan, soon),
        }
    }

    /// Waits until this rank and the other ranks, if there are any, have completed a phase. `mine`
    /// says whether this rank has.
    fn meet(
        &mut self,
        phase: together::Phase,
        mine: Result<(), Completion>,
    ) -> Result<(), Completion> {
        let Some(together) = &mut self.together else { return mine };
        let timing = &self.plan.config.timing;
        let patience = match phase {
            together::Phase::Connect => {
                timing.connect_timeout.saturating_sub(Duration::from_nanos(self.orders.clock.now()))
            }
            together::Phase::Settle => LONGEST_FLOOD,
            together::Phase::Drain => timing.drain.longest() * 2,
        };
        let interrupt = self.interrupt;
        let interrupted = || interrupt.load(Ordering::Relaxed);
        together.meet(self.plan, phase, mine, patience, &interrupted)
    }

    /// Waits until the controller has finished flooding the announcements of hosts, since this work
    /// would delay the first answers.
    fn wait_for_quiet(&mut self, settled: u64) -> Wait {
        let is_quiet = |conductor: &Self| {
            let last = conductor.live.last_flooded();
            last == 0 || conductor.orders.clock.now() >= last.saturating_add(nanos(QUIET))
        };
        let wait = self.wait_until(settled.saturating_add(nanos(LONGEST_FLOOD)), is_quiet);
        if wait == Wait::Elapsed {
            self.notes.push(format!(
                "The controller was still sending announcements of hosts on {} s after the last of \
                 them: that load is in the figures. Use --arp-first=false, or fewer hosts.",
                LONGEST_FLOOD.as_secs()
            ));
        }
        wait
    }

    fn completeness(&self) -> Completion {
        let (ready, wanted) = (self.live.ready(), self.live.wanted());
        if ready < wanted {
            let reason =
                format!("{} of {wanted} switches were not connected at the end", wanted - ready);
            return Completion::Partial { reason };
        }
        Completion::Complete
    }

    /// Waits until the switches are connected and ready.
    fn connect(&mut self) -> Result<(), Completion> {
        let timing = self.plan.config.timing;
        let deadline = nanos(timing.connect_timeout);
        let wait = self
            .wait_until(deadline, |conductor| conductor.live.ready() >= conductor.live.wanted());
        let (ready, wanted) = (self.live.ready(), self.live.wanted());
        if ready >= wanted {
            self.ready_after = Some(self.orders.clock.now() as f64 / 1e9);
            return Ok(());
        }
        if wait == Wait::Interrupted {
            return Err(Completion::Failed { reason: "interrupted while connecting".into() });
        }
        if ready > 0 && timing.allow_missing {
            return Ok(());
        }
        let seconds = timing.connect_timeout.as_secs_f64();
        let completed = self.live.completed();
        let what = match completed > ready {
            true => format!(
                "although {completed} had finished their handshake: the controller ended their \
                 connections again. {}",
                unanswered::ids_unknown(self.plan.config.protocol)
            ),
            false => "give more time with --connect-timeout, or go on without them with \
                      --allow-missing"
                .to_owned(),
        };
        let mark = if completed > ready { "," } else { ";" };
        Err(Completion::Failed {
            reason: format!(
                "{ready} of {wanted} switches were ready after {seconds} s{mark} {what}"
            ),
        })
    }

    /// Starts to sample the CPU time and memory of the controller. The controller's process is
    /// looked up again in every trial, because the controller may have been restarted.
    fn watch_controller(&mut self) {
        let config = &self.plan.config;
        let Some(selector) = &config.controller.process else { return };
        // Other ranks report no missing process, since the controller may run on a different host
        // than theirs.
        let silent = self.together.as_ref().is_some_and(|together| !together.is_first());
        let found = match selector {
            ProcessSelector::Listener => listener(config),
            other => Ok(other.clone()),
        };
        let sampler = found.and_then(|selector| {
            Sampler::new(&selector, config.timing.sample).map_err(|error| error.to_string())
        });
        match sampler {
            Ok(sampler) => self.controller = Some(sampler),
            Err(_) if silent => {}
            Err(error) => {
                self.notes.push(format!("The controller's CPU and memory are unknown: {error}"));
            }
        }
    }

    /// Adds a note if the controller uses much CPU time although it has not received packet-ins
    /// yet.
    fn note_busy_controller(&mut self) {
        let settle = self.plan.config.timing.settle;
        let cpu = self.usage.controller_before_traffic();
        self.notes.extend(cpu.and_then(|cpu| remarks::busy_before(settle, cpu)));
    }

    /// Waits until traffic, which started at `start` on the trial's clock, has lasted for `end`
    /// nanoseconds. Meanwhile, samples the CPU time and memory of the controller and the probe.
    fn traffic_until(&mut self, start: u64, end: u64) -> Wait {
        let spacing = nanos(self.plan.config.timing.sample).max(1);
        loop {
            let now = self.orders.clock.now();
            let next = start.saturating_add(self.usage.len() as u64 * spacing);
            let target = next.min(start.saturating_add(end));
            if self.wait_until(target.max(now), |_| false) == Wait::Interrupted {
                return Wait::Interrupted;
            }
            if target == next {
                self.sample(next - start);
            }
            if self.orders.clock.now() >= start.saturating_add(end) {
                return Wait::Elapsed;
            }
        }
    }

    fn sample(&mut self, at: u64) {
        let start = self.orders.traffic_start().unwrap_or(0);
        self.surroundings.glance(self.orders.clock.now().saturating_sub(start));
        let now = Instant::now();
        let controller = self.controller.as_mut().and_then(|sampler| sampler.sample(now));
        let own = self.own.as_mut().and_then(|sampler| sampler.sample(now));
        self.usage.push(at, controller, own);
    }

    fn wait_until(&mut self, moment: u64, done: impl Fn(&Self) -> bool) -> Wait {
        loop {
            if self.interrupt.load(Ordering::Relaxed)
                || self.together.as_ref().is_some_and(|together| together.cancelled().is_some())
            {
                return Wait::Interrupted;
            }
            if done(self) {
                return Wait::Done;
            }
            let left = moment.saturating_sub(self.orders.clock.now());
            if left == 0 {
                return Wait::Elapsed;
            }
            let pause = POLL.min(Duration::from_nanos(left));
            let from = self.orders.clock.now();
            match &mut self.together {
                None => std::thread::sleep(pause),
                Some(together) => together.look(self.plan, pause),
            }
            if let Some(start) = self.orders.traffic_start() {
                let [from, to] = [from + nanos(pause), self.orders.clock.now()];
                self.surroundings.slept(from.saturating_sub(start), to.saturating_sub(start));
            }
        }
    }
}

/// Returns a selector of the controller's process, which is the one at the other end of the control
/// channel.
fn listener(config: &Config) -> Result<ProcessSelector, String> {
    let found = match config.protocol {
        Protocol::OpenFlow10 | Protocol::OpenFlow13 => {
            let address = resolve(&config.controller.address).map_err(|error| error.to_string())?;
            usage::listeners_at(address)
        }
        Protocol::P4Runtime => {
            let devices = engine::p4runtime::addresses(config);
            let first = devices.first().ok_or("there are no switches")?;
            usage::diallers_of(first.listen)
        }
    };
    let processes = found.map_err(|error| error.to_string())?;
    let first = processes.first().ok_or("no process was found")?;
    Ok(ProcessSelector::Pid(*first))
}

fn describe(sampler: &Sampler) -> String {
    let names: Vec<String> =
        sampler.processes().iter().map(|(pid, name)| format!("{name} ({pid})")).collect();
    names.join(", ")
}

/// Announces the switches to a controller that cannot find them by itself. Returns notes for the
/// result.
pub(crate) fn announce(config: &Config, interrupt: &AtomicBool) -> Result<Vec<String>, TrialError> {
    let onos = Onos::of(config);
    let mut notes = Vec::new();
    if let (true, Some(onos)) = (config.controller.onos_forget, &onos) {
        // ONOS may hold state of an earlier run. State that cannot be removed is reported after the
        // trial.
        let _ = onos.forget(config);
    }
    if config.protocol == Protocol::P4Runtime {
        tell_of_devices(config, interrupt)?;
    } else {
        // The file lists all switches of the run, since Faucet reads it once.
        let switches = &config.switches;
        let text = || netcfg::faucet(switches.first_id, config.most_switches(), switches.ports);
        write_file(&config.controller.faucet_file, text)?;
    }
    if let Some(onos) = onos {
        // After a restart, ONOS starts its applications one by one.
        let patience = match config.plan.between {
            Some(_) => config.timing.connect_timeout,
            None => BRIEF,
        };
        let deadline = Instant::now() + patience.min(config.timing.connect_timeout);
        while let Some(missing) = onos.missing(config) {
            if Instant::now() >= deadline || interrupt.load(Ordering::Relaxed) {
                return Err(TrialError::Onos(missing));
            }
            std::thread::sleep(Duration::from_millis(500));
        }
        notes.extend(onos.remarks(config));
    }
    Ok(notes)
}

fn write_file(file: &Option<PathBuf>, text: impl FnOnce() -> String) -> Result<(), TrialError> {
    match file {
        Some(file) => std::fs::write(file, text())
            .map_err(|cause| TrialError::File { file: file.clone(), cause }),
        None => Ok(()),
    }
}

fn tell_of_devices(config: &Config, interrupt: &AtomicBool) -> Result<(), TrialError> {
    let devices = engine::p4runtime::addresses(config);
    let controller = &config.controller;
    let netcfg = netcfg::onos_netcfg(
        &devices,
        config.switches.ports,
        &controller.onos_driver,
        &controller.onos_pipeconf,
    );
    write_file(&controller.netcfg_file, || format!("{netcfg:#}\n"))?;
    write_file(&controller.list_file, || netcfg::list(&devices))?;
    let Some(base) = &controller.onos_rest else { return Ok(()) };
    let (user, password) = &controller.onos_credentials;
    let deadline = Instant::now() + config.timing.connect_timeout;
    loop {
        let posted = netcfg::post_to_onos(base, user, password, &netcfg, TIMEOUT);
        match posted {
            // A controller that was just restarted takes a while to listen.
            Err(
                NetcfgError::Unreachable { .. } | NetcfgError::Refused { status: 404 | 503, .. },
            ) if Instant::now() < deadline && !interrupt.load(Ordering::Relaxed) => {
                std::thread::sleep(Duration::from_millis(500));
            }
            result => return Ok(result?),
        }
    }
}

/// The longest time for which a trial waits until the applications of ONOS are active, if ONOS was
/// not restarted.
const BRIEF: Duration = Duration::from_secs(2);
/// The timeout of one request to the controller's REST interface.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The way in which a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Elapsed,
    Done,
    Interrupted,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Origin, Settings};
    use crate::engine::recorder::SwitchRecord;

    /// One process runs hundreds of trials, so the memory of each must be freed at its end.
    #[test]
    fn nothing_of_a_trial_outlives_it() {
        for protocol in ["openflow13", "p4runtime"] {
            let mut settings = Settings::new();
            // All devices are behind one port, which the system chooses.
            for (key, value) in [
                ("protocol", protocol),
                ("p4runtime.first-port", &free_port().to_string()),
                ("p4runtime.devices-per-port", "8"),
                ("switches.count", "8"),
                ("threads", "1"),
            ] {
                settings.set(key, value, Origin::Flag);
            }
            let config = settings.resolve().expect("settings").config;
            let setting = TrialSetting { switches: 8, rate: 1.0, repetition: 1, seed: 1 };
            let plan = Arc::new(plan(config, setting, None).expect("a plan"));
            let (orders, live) = (Arc::new(Orders::new()), Arc::new(Live::default()));
            let (threads, slots) = start(&plan, &orders, &live, None).expect("threads");
            drop(slots);
            orders.stop();
            assert_eq!(join(threads).expect("the outcome of a thread").len(), 1);
            assert_eq!(Arc::strong_count(&plan), 1, "{protocol}");
        }
    }

    fn free_port() -> u16 {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address").port()
    }

    /// ONOS sends 17,068 packet-outs if the hosts of fifty switches, two each, announce themselves
    /// all at once.
    #[test]
    fn hosts_announce_themselves_one_after_the_other() {
        let mut settings = Settings::new();
        for (key, value) in [("switches.count", "50"), ("threads", "2")] {
            settings.set(key, value, Origin::Flag);
        }
        let config = settings.resolve().expect("settings").config;
        let setting = TrialSetting { switches: 50, rate: 1.0, repetition: 1, seed: 1 };
        let plan = plan(config, setting, None).expect("a plan");
        assert_eq!(plan.introductions(), nanos(Duration::from_secs(1)));
        let mut introduced = Vec::new();
        for thread in 0..2 {
            let records: Vec<SwitchRecord> = plan
                .members(thread)
                .map(|index| SwitchRecord { index, ..SwitchRecord::default() })
                .collect();
            let (mut introductions, begin) = (engine::Introductions::default(), 7_000);
            for at in (0..=100).map(|step| begin + step * 10_000_000) {
                let due = introductions.due(&plan, &records, at);
                assert!(due.len() <= 2, "{due:?}");
                introduced.extend(due.iter().map(|(place, host)| (records[*place].index, *host)));
            }
        }
        introduced.sort_unstable();
        let all: Vec<_> = (0..50).flat_map(|switch| [(switch, 0), (switch, 1)]).collect();
        assert_eq!(introduced, all);
    }

    /// Announcements that are still flooded would delay the first answers.
    #[test]
    fn traffic_waits_until_announcements_are_no_longer_flooded() {
        let mut settings = Settings::new();
        settings.set("switches.count", "2", Origin::Flag);
        let config = settings.resolve().expect("settings").config;
        let setting = TrialSetting { switches: 2, rate: 1.0, repetition: 1, seed: 1 };
        let plan = plan(config, setting, None).expect("a plan");
        let (orders, live) = (Orders::new(), Live::default());
        let interrupt = AtomicBool::new(false);
        let mut conductor = Conductor {
            plan: &plan,
            orders: &orders,
            live: &live,
            interrupt: &interrupt,
            controller: None,
            own: None,
            usage: UsageSeries::default(),
            surroundings: Surroundings::new(&plan),
            ready_after: None,
            notes: Vec::new(),
            together: None,
        };
        let settled = orders.clock.now();
        assert_eq!(conductor.wait_for_quiet(settled), Wait::Done, "nothing was ever flooded");
        let last = orders.clock.now();
        live.announcement_flooded(last);
        assert_eq!(conductor.wait_for_quiet(settled), Wait::Done);
        assert!(orders.clock.now() >= last + nanos(QUIET));
        // The wait can be interrupted even if flooding never ends.
        live.announcement_flooded(u64::MAX);
        interrupt.store(true, Ordering::Relaxed);
        assert_eq!(conductor.wait_for_quiet(settled), Wait::Interrupted);
    }
}
