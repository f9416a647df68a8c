//! The edge of a trial: the sockets, the clock and the threads between the emulated network and the
//! controller.

mod desk;
mod openflow;
mod openflow_device;
mod p4runtime;
mod p4runtime_device;
mod p4runtime_events;

use std::sync::atomic::{AtomicBool, Ordering};

use crate::engine::control::Clock;
use crate::rfc8456::bench::Bench;
use crate::rfc8456::emulator::Device;
use crate::rfc8456::seen::{Order, What};
use crate::trial::TrialError;
use desk::Desk;

pub(super) use openflow::OpenFlowEdge;
pub(super) use openflow_device::OpenFlowDevice;
pub(super) use p4runtime::P4RuntimeEdge;
pub(super) use p4runtime_device::{Kind, P4RuntimeDevice, Programs};
pub(super) use p4runtime_events::Events;

/// A function that announces the switches of a trial to the controller.
pub(super) type Announce<'a> = &'a dyn Fn() -> Result<(), TrialError>;

/// The longest sleep of the loop in nanoseconds. It bounds the delay until an interrupt takes
/// effect.
const LOOK: u64 = 50_000_000;
/// The longest sleep of the loop in nanoseconds while the thread for slow work ([`Desk`]) has a
/// task.
const DESK_LOOK: u64 = 200_000;

/// The fields that the edges of both control protocols share.
pub(super) struct EdgeContext<'a> {
    pub(super) clock: Clock,
    pub(super) interrupt: &'a AtomicBool,
    desk: Desk,
    /// Whether the number of flow entries is read from the northbound interface rather than from
    /// the switches.
    counts_flows: bool,
}

impl<'a> EdgeContext<'a> {
    pub(super) fn new(
        northbound: Option<super::northbound::Northbound>,
        fail: Option<String>,
        interrupt: &'a AtomicBool,
    ) -> Self {
        let clock = Clock::start();
        let counts_flows = northbound.is_some();
        Self { clock, interrupt, desk: Desk::open(northbound, fail, clock), counts_flows }
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// Lets the bench perform everything that is due, passes slow orders to the [`Desk`], and
    /// returns the orders that the caller must carry out.
    fn turn<D: Device>(&mut self, bench: &mut Bench<D>) -> Vec<Order> {
        while let Some(seen) = self.desk.answer() {
            bench.emulator.note(seen.at, seen.what);
        }
        let (now, mut orders) = (self.clock.now(), Vec::new());
        bench.turn(now, &mut orders);
        orders
            .into_iter()
            .filter_map(|order| match order {
                Order::AskFlows if !self.counts_flows => {
                    let entries = bench.emulator.entries() as u64;
                    bench.emulator.note(now, What::Flows(Ok(entries)));
                    None
                }
                order => self.desk.order(order),
            })
            .collect()
    }

    /// Returns the time in nanoseconds until the edge must continue, for which it may sleep.
    fn sleep<D: Device>(&self, bench: &Bench<D>) -> u64 {
        let most = if self.desk.is_busy() { DESK_LOOK } else { LOOK };
        bench.due().saturating_sub(self.clock.now()).min(most)
    }
}
