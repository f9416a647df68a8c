//! The edge of a trial: the sockets, the clock and the threads that connect the emulated network to
//! the controller.

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

/// The longest time in nanoseconds for which the loop sleeps. An interrupt takes effect after this
/// time at the latest.
const LOOK: u64 = 50_000_000;
/// The longest time in nanoseconds for which the loop sleeps while the thread for slow work
/// ([`Desk`]) is busy.
const DESK_LOOK: u64 = 200_000;

/// The state that the edges of both control protocols have in common.
pub(super) struct EdgeContext<'a> {
    pub(super) clock: Clock,
    pub(super) interrupt: &'a AtomicBool,
    desk: Desk,
    /// Whether the northbound interface reports the number of flow entries. If not, the switches'
    /// entries are counted.
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

    /// Makes the bench perform everything that is due, and passes slow orders to the [`Desk`].
    /// Returns the orders that the caller must carry out.
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

    /// Returns for how many nanoseconds the edge may sleep until it must continue.
    fn sleep<D: Device>(&self, bench: &Bench<D>) -> u64 {
        let most = if self.desk.is_busy() { DESK_LOOK } else { LOOK };
        bench.due().saturating_sub(self.clock.now()).min(most)
    }
}
