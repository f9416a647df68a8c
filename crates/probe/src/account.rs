//! The account of a trial: how many packet-ins the probe, the network and the controller each
//! delayed or lost. From it follows which of these three sides limited the answer rate.
//!
//! Packet-ins of a trial can be lost, late, or part of a backlog. For each side, the account states
//! a lower and an upper bound on the number of packet-ins for which that side is responsible. A
//! delay of the probe explains no more packet-ins than its length times the rate, so a short pause
//! does not excuse a long backlog. Bounds can be added over threads, processes and trials. The side
//! with the largest lower bound was the limit ([`decision`]). If no lower bound is high enough, the
//! verdict states the bounds instead of naming a side.
//!
//! The account follows from these assumptions:
//!
//! * A packet-in that is due is in one of six states. It is *held* by the probe, *refused* by a
//!   connection from which the controller does not read, in the network, at the controller,
//!   answered, or answered and *unread* by the probe.
//! * A packet-in was *passed over* if it was not answered, but a later one of the same switch was.
//!   TCP delivers everything or breaks, so the controller dropped the packet-in.
//! * n delayed arrivals delay at most n departures of a work-conserving queue. Therefore the probe
//!   explains no more of a backlog than the most packet-ins that it held since the queue was last
//!   empty ([`course`]).
//! * A *late burst* is a group of packet-ins that are sent together because the probe was absent
//!   before. If a queue drops arrivals when it is full, a burst costs at most as many packet-ins as
//!   it contains. The probe explains no loss beyond that, and none while no burst disturbs the
//!   queue.
//! * While a work-conserving controller has a backlog, its answer rate does not depend on delays of
//!   the probe ([`service`]).
//! * Packet-ins that the kernel could not pass on count against the controller if its TCP receive
//!   window was closed, and otherwise against the network. While receive windows of the probe
//!   itself are closed, nothing counts against the controller, which may have answers that it
//!   cannot send.
//!
//! The modules below read neither a clock nor a file, so a verdict depends on the evidence alone.

mod course;
mod decision;
mod evidence;
mod sentence;
mod service;

pub(crate) use course::{Course, Undisturbed};
pub(crate) use decision::verdict;
pub(crate) use evidence::{
    ControllerWork, Edges, Evidence, HostWork, InSockets, Observed, ProbeWork, Times,
};
pub(crate) use service::Service;

use crate::outcome::{Account, Bounds};

/// The share of the due packet-ins that a loss or a backlog must exceed to count in the verdict on
/// which side limited the trial.
pub(crate) const NOTABLE: f64 = 0.01;
/// The number of packet-ins that a loss or a backlog must exceed to count in the verdict on which
/// side limited the trial.
const FEW: f64 = 10.0;

/// The bounds on the number of packet-ins for which the probe, the network and the controller are
/// each responsible, and the quantities behind these bounds.
#[derive(Clone, Debug)]
pub(crate) struct Explained {
    pub(crate) account: Account,
    pub(crate) course: Course,
    pub(crate) service: Option<Service>,
    /// Lower bounds on the number of packet-ins that piled up at the controller (`backlog`), and on
    /// the number of packet-ins that the controller dropped (`dropped`).
    pub(crate) backlog: u64,
    pub(crate) dropped: u64,
    /// The number of packet-ins that a bound must exceed to count in the verdict. It is the larger
    /// of [`FEW`] and the share [`NOTABLE`] of the due packet-ins.
    pub(crate) tolerance: u64,
}

/// Computes the account of a trial whose packet-ins are due by a schedule: the bounds on the number
/// of packet-ins for which the probe, the network and the controller are each responsible.
pub(crate) fn explain(evidence: &Evidence<'_>) -> Explained {
    let hidden = evidence.sockets.map_or(&[][..], |sockets| &sockets.spells);
    let course = Course::of(evidence.observed, evidence.window, hidden);
    let wanted = evidence.wanted();
    let tolerance = FEW.max(NOTABLE * wanted as f64) as u64;
    let unread = evidence.unread();
    let network = evidence.in_network();
    let service = Service::of(evidence, &course, unread.end + network.end);

    let cut_off = match evidence.observed.absent >= EXCUSES_HANGING_UP {
        true => 0,
        false => course.cut_off,
    };
    let refused_by_network =
        (course.refused_growth().max(0.0) * evidence.refused_by_network()) as u64;
    let network_growth = network.growth() + refused_by_network;
    let by_growth = course.growth_low + course.refused_growth()
        - course.hidden.growth as f64
        - (course.held_most.saturating_sub(course.held.end) + course.held.start) as f64
        - unread.end as f64
        - network_growth as f64;
    let by_growth = by_growth.max(0.0);
    let by_rate = match &service {
        Some(service) => course.due as f64 - service.high * evidence.seconds(),
        None => 0.0,
    };
    let passed_over = course.passed_over.saturating_sub(course.hidden.passed_over);
    let dropped = passed_over.saturating_sub(course.late).max(course.passed_over_undisturbed);
    // A packet-in that the answer rate shows to be missing was either passed over or added to the
    // backlog.
    let low = by_rate.max(by_growth + dropped as f64).max(0.0) as u64;
    let low = low.saturating_sub(evidence.stalled()) + cut_off;
    let backlog = by_growth.max(by_rate - course.passed_over as f64).max(0.0) as u64;
    let backlog = backlog.saturating_sub(evidence.stalled());

    let held_growth = course.held.growth().saturating_sub(evidence.observed.due_while_away_at_end);
    // A packet-in that had not left when the window ended was held by the probe, and the probe is
    // responsible for it unless it held the packet-in already when the window began.
    let never_left = evidence.unsent_by_probe().saturating_sub(course.held.start);
    let unread_at_least = evidence.unread_at_least().max(course.hidden.sure_growth);
    let probe_low = held_growth.max(never_left) + unread_at_least;
    let probe_most = probe_low + course.held_most + unread.end + course.late + course.hidden.all();
    let network_low = network_growth.saturating_sub(course.held_most);
    let missing = course.missing();
    let probe = Bounds { low: probe_low, high: probe_most };
    let network = Bounds { low: network_low, high: network_growth };
    let rest = missing.saturating_sub(probe.low + network.low);
    let controller = Bounds { low, high: low.max(rest) };
    let account = Account { due: wanted, missing, controller, probe, network };
    Explained { account, course, service, backlog, dropped, tolerance }
}

/// The shortest absence of the probe, in nanoseconds, after which a controller is excused for
/// closing connections, because it may have considered the switches dead. After such an absence,
/// packet-ins that were due without a connection do not count against the controller.
const EXCUSES_HANGING_UP: u64 = 1_000_000_000;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
