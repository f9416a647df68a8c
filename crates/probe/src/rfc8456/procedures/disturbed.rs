//! Runs any procedure while the controller is disturbed (sections 5.3.1 and 5.3.2).

use crate::rfc8456::bench::{Measured, Procedure};
use crate::rfc8456::scene::Scene;
use crate::rfc8456::seen::{Order, Seen};

/// A disturbance of the controller. It consists of events that the probe repeats every `spacing`
/// nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rfc8456) enum Disturbance {
    /// Invalid messages, which the switches send in turn.
    Invalid { spacing: u64, switches: u32 },
    /// Connections to the controller that are closed without being used.
    Connections { spacing: u64 },
    /// Packets that one host sends, each with a new source address.
    Strangers { spacing: u64 },
}

/// The flow number of the first packet of [`Disturbance::Strangers`]. It is so high that the
/// procedure's own flow numbers never reach it: that would take more than eight million flows.
const STRANGERS: u32 = 1 << 23;

/// A procedure together with a disturbance. The disturbance lasts from the moment at which the
/// network is ready to the end of the trial.
pub(in crate::rfc8456) struct Disturbed {
    scene: Scene,
    inner: Box<dyn Procedure>,
    disturbance: Disturbance,
    next: u64,
    count: u64,
}

/// The maximum number of events of the disturbance that are sent at once if the probe was paused
/// and events are overdue.
const MAX_AT_ONCE: u32 = 1000;

impl Disturbed {
    pub(in crate::rfc8456) fn new(
        inner: Box<dyn Procedure>,
        disturbance: Disturbance,
        scene: Scene,
    ) -> Self {
        Self { scene, inner, disturbance, next: u64::MAX, count: 0 }
    }

    fn spacing(&self) -> u64 {
        match self.disturbance {
            Disturbance::Invalid { spacing, .. }
            | Disturbance::Connections { spacing }
            | Disturbance::Strangers { spacing } => spacing.max(1),
        }
    }
}

impl Procedure for Disturbed {
    fn outlives_controller(&self) -> bool {
        self.inner.outlives_controller()
    }

    fn begins_unconnected(&self) -> bool {
        self.inner.begins_unconnected()
    }

    fn begin(&mut self, now: u64, orders: &mut Vec<Order>) {
        self.next = now;
        self.inner.begin(now, orders);
    }

    fn see(&mut self, seen: &Seen, orders: &mut Vec<Order>) {
        self.inner.see(seen, orders);
    }

    fn wake(&mut self, now: u64, orders: &mut Vec<Order>) {
        for _ in 0..MAX_AT_ONCE {
            if self.next > now {
                break;
            }
            match self.disturbance {
                Disturbance::Invalid { switches, .. } => {
                    let switch = (self.count % u64::from(switches.max(1))) as u32;
                    orders.push(Order::Invalid { switch, number: self.count });
                }
                Disturbance::Connections { .. } => orders.push(Order::Attack),
                Disturbance::Strangers { .. } => {
                    let flow = STRANGERS + self.count as u32 % STRANGERS;
                    orders.extend(self.scene.pair(0).map(|pair| self.scene.stranger(pair, flow)));
                }
            }
            self.count += 1;
            self.next = self.next.saturating_add(self.spacing());
        }
        if self.inner.due() <= now {
            self.inner.wake(now, orders);
        }
    }

    fn due(&self) -> u64 {
        self.next.min(self.inner.due())
    }

    fn measured(&self) -> Option<Measured> {
        let measured = self.inner.measured()?;
        Some(measured.with("disturbances", self.count as f64, crate::metrics::Unit::Count))
    }
}
