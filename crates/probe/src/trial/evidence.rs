//! The observations of the conductor, the thread that leads a trial. It observes the state of the
//! kernel's TCP connections, and for how long nothing ran on the host.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::account::HostWork;
use crate::config::Protocol;
use crate::engine::{TrialPlan, p4runtime};
use crate::host;
use crate::kernel::{Ends, Look, Watch};
use crate::ledger::Window;

/// The delay in nanoseconds with which a sleeping thread must wake to prove that nothing ran on the
/// host. A host that is merely busy wakes every thread sooner.
const STALL: u64 = 20_000_000;

/// The observations of one rank, a process of the probe.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Seen {
    pub(super) looks: Vec<Look>,
    /// Whether the controller runs on the same host as this rank.
    has_controller: bool,
    /// The time within the measured window, in nanoseconds, for which the host did not wake the
    /// conductor although it was due to wake.
    stalled: u64,
    /// The share of the CPU time in the window that the hypervisor gave to other virtual machines.
    stolen: f64,
    /// The reason why the state of TCP connections is not known, or `None` if it is known.
    pub(super) failure: Option<String>,
}

impl Seen {
    /// Returns the disturbances of the controller's host, as the rank on the same host observed
    /// them. Without such a rank, returns no disturbances.
    pub(super) fn host(ranks: &[Self]) -> HostWork {
        let there = || ranks.iter().filter(|seen| seen.has_controller);
        HostWork {
            has_controller: there().count() > 0,
            stalled: there().map(|seen| seen.stalled).max().unwrap_or(0),
            stolen: there().map(|seen| seen.stolen).fold(0.0, f64::max),
        }
    }
}

/// Observes the TCP connections and the host during a trial. Times are in nanoseconds since the
/// start of traffic.
#[derive(Debug)]
pub(super) struct Surroundings {
    watch: Option<Watch>,
    window: Window,
    pub(super) has_controller: bool,
    stalled: u64,
    failure: Option<String>,
    /// The CPU time that the hypervisor had withheld from this machine when the window began.
    stolen_before: Option<Duration>,
    stolen: f64,
}

impl Surroundings {
    pub(super) fn new(plan: &TrialPlan) -> Self {
        let (watch, failure) = match ends(plan).map(Watch::new) {
            Some(Ok(watch)) => (Some(watch), None),
            Some(Err(error)) => (None, Some(error.to_string())),
            None => (None, None),
        };
        let window = plan.window();
        Self {
            watch,
            window,
            has_controller: false,
            stalled: 0,
            failure,
            stolen_before: None,
            stolen: 0.0,
        }
    }

    /// Samples the TCP connections, unless samples would take too large a share of the time.
    pub(super) fn glance(&mut self, at: u64) {
        self.watched(|watch| watch.glance(at));
    }

    /// Samples the TCP connections and the host at the start or at the end of the window.
    pub(super) fn look_at_edge(&mut self, at: u64) {
        self.watched(|watch| watch.look(at));
        let stolen = host::stolen();
        match self.stolen_before {
            None => self.stolen_before = Some(stolen),
            Some(before) => {
                let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
                let time = self.window.to.saturating_sub(self.window.from) as f64 / 1e9 * cores;
                self.stolen = stolen.saturating_sub(before).as_secs_f64() / time;
            }
        }
    }

    fn watched(&mut self, look: impl FnOnce(&mut Watch) -> std::io::Result<()>) {
        let Some(watch) = &mut self.watch else { return };
        if let Err(error) = look(watch) {
            self.failure = Some(error.to_string());
            self.watch = None;
        }
    }

    /// Records that the conductor slept until `woken`, although it was due to wake at `until`.
    pub(super) fn slept(&mut self, until: u64, woken: u64) {
        if woken.saturating_sub(until) >= STALL {
            let inside = woken.min(self.window.to).saturating_sub(until.max(self.window.from));
            self.stalled += inside;
        }
    }

    pub(super) fn close(self) -> Seen {
        Seen {
            looks: self.watch.map(|watch| watch.looks().to_vec()).unwrap_or_default(),
            has_controller: self.has_controller,
            stalled: self.stalled,
            stolen: self.stolen,
            failure: self.failure,
        }
    }
}

/// Returns the TCP ports that identify the connections of a trial, or `None` if the controller's
/// port is unknown.
fn ends(plan: &TrialPlan) -> Option<Ends> {
    match plan.config.protocol {
        Protocol::OpenFlow10 | Protocol::OpenFlow13 => {
            let (_, port) = plan.config.controller.address.rsplit_once(':')?;
            Some(Ends::Dialled(port.parse().ok()?))
        }
        Protocol::P4Runtime => {
            let devices = p4runtime::addresses(&plan.config);
            let own = devices.iter().filter(|device| {
                let number = device.number - plan.config.switches.first_id;
                u32::try_from(number).is_ok_and(|switch| plan.portion.switches.contains(&switch))
            });
            Some(Ends::Served(own.map(|device| device.listen.port()).collect()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn surroundings() -> Surroundings {
        Surroundings {
            watch: None,
            window: Window { from: 1_000 * MS, to: 2_000 * MS },
            has_controller: true,
            stalled: 0,
            failure: None,
            stolen_before: None,
            stolen: 0.0,
        }
    }

    #[test]
    fn long_delays_of_sleep_in_the_window_are_stalls() {
        let mut surroundings = surroundings();
        surroundings.slept(1_100 * MS, 1_119 * MS);
        surroundings.slept(900 * MS, 990 * MS);
        assert_eq!(surroundings.stalled, 0);
        surroundings.slept(1_200 * MS, 1_250 * MS);
        surroundings.slept(1_900 * MS, 2_500 * MS);
        assert_eq!(surroundings.stalled, 150 * MS);
        let elsewhere = Seen { stalled: 900 * MS, stolen: 0.5, ..Seen::default() };
        let host = Seen::host(&[surroundings.close(), elsewhere]);
        assert_eq!(host, HostWork { has_controller: true, stalled: 150 * MS, stolen: 0.0 });
        assert_eq!(Seen::host(&[]), HostWork::default());
    }
}
