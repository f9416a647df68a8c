//! A thread for slow work that does not use the control channel: queries of the controller's
//! northbound interface, and the command that stops a controller.

use std::sync::mpsc::{Receiver, Sender, channel};

use crate::engine::control::Clock;
use crate::rfc8456::northbound::{self, Northbound};
use crate::rfc8456::seen::{Hop, Order, Seen, What};

/// The handle of the thread for slow work. It passes orders to the thread and returns their
/// results.
pub(super) struct Desk {
    orders: Sender<Task>,
    answers: Receiver<Seen>,
    /// The number of orders whose results are not available yet.
    pending: usize,
}

/// An order to the thread for slow work.
enum Task {
    AskTopology,
    AskFlows,
    Provision { flow: u32, path: Vec<Hop> },
    Fail,
}

impl Desk {
    pub(super) fn open(northbound: Option<Northbound>, fail: Option<String>, clock: Clock) -> Self {
        let (orders, tasks) = channel::<Task>();
        let (results, answers) = channel();
        // The thread ends when the desk is dropped. A command that hangs delays only this thread.
        std::thread::spawn(move || {
            for task in tasks {
                let start = clock.now();
                let what = work(task, start, northbound.as_ref(), fail.as_deref());
                if results.send(Seen { at: clock.now(), what }).is_err() {
                    break;
                }
            }
        });
        Self { orders, answers, pending: 0 }
    }

    /// Passes an order to the thread if it is slow work, and returns `None`. Otherwise returns the
    /// order, which the caller must carry out.
    pub(super) fn order(&mut self, order: Order) -> Option<Order> {
        let task = match order {
            Order::AskTopology => Task::AskTopology,
            Order::AskFlows => Task::AskFlows,
            Order::Provision { flow, path } => Task::Provision { flow, path },
            Order::Fail => Task::Fail,
            other => return Some(other),
        };
        self.pending += usize::from(self.orders.send(task).is_ok());
        None
    }

    /// Returns whether the thread has work whose results are not available yet.
    pub(super) fn is_busy(&self) -> bool {
        self.pending > 0
    }

    /// Returns the next result of the thread, or `None` if none is available.
    pub(super) fn answer(&mut self) -> Option<Seen> {
        let seen = self.answers.try_recv().ok()?;
        self.pending = self.pending.saturating_sub(1);
        Some(seen)
    }
}

fn work(task: Task, asked_at: u64, northbound: Option<&Northbound>, fail: Option<&str>) -> What {
    let missing = || "there is no northbound interface to ask; see --northbound".to_owned();
    match task {
        Task::AskTopology => {
            What::Topology(northbound.ok_or_else(missing).and_then(Northbound::topology))
        }
        Task::AskFlows => What::Flows(northbound.ok_or_else(missing).and_then(Northbound::flows)),
        Task::Provision { flow, path } => {
            let outcome =
                northbound.ok_or_else(missing).and_then(|northbound| northbound.provision(&path));
            What::Provisioned { flow, asked_at, outcome }
        }
        Task::Fail => What::Failed(match fail {
            Some(command) => northbound::shell(command, None, "").map(|_| ()),
            None => Err("no command ends it; see --rfc8456-fail".to_owned()),
        }),
    }
}
