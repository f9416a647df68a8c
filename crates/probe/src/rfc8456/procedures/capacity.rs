//! The tests of two capacities: of control sessions (section 5.2.1) and of the forwarding table
//! (section 5.2.3).

use std::collections::BTreeSet;

use super::{SAME_ANSWERS, Terms, seconds};
use crate::metrics::Unit;
use crate::rfc8456::bench::{Measured, Procedure};
use crate::rfc8456::scene::Scene;
use crate::rfc8456::seen::{Order, Seen, What};

/// The test of the control sessions capacity. Switches connect one after the other, until the
/// controller closes a session or accepts no further one, or until all switches are connected.
pub(in crate::rfc8456) struct Sessions {
    terms: Terms,
    switches: u32,
    /// The number of switches that have been ordered to connect.
    asked: u32,
    /// The switches that have a session at present.
    ready: BTreeSet<u32>,
    /// The largest number of sessions that have been open at the same time. The test reports it as
    /// the capacity, and fails if it is zero.
    most: usize,
    /// The time at which the next switch is ordered to connect.
    next: u64,
    /// The time by which another session must be opened. Otherwise the test ends.
    deadline: u64,
    measured: Option<Measured>,
}

impl Sessions {
    /// Creates the procedure. `terms.spacing` is the time between the connection attempts of two
    /// switches.
    pub(in crate::rfc8456) fn new(terms: Terms, switches: u32) -> Self {
        Self {
            terms,
            switches,
            asked: 0,
            ready: BTreeSet::new(),
            most: 0,
            next: u64::MAX,
            deadline: u64::MAX,
            measured: None,
        }
    }

    fn conclude(&mut self, remark: String) {
        if self.measured.is_none() && self.most == 0 {
            self.measured = Some(Measured::failed(remark));
        } else if self.measured.is_none() {
            let measured =
                Measured::of(self.most as f64).with("switches", self.switches.into(), Unit::Count);
            self.measured = Some(Measured { remark: Some(remark), ..measured });
        }
    }
}

impl Procedure for Sessions {
    fn begins_unconnected(&self) -> bool {
        true
    }

    fn begin(&mut self, now: u64, _: &mut Vec<Order>) {
        (self.next, self.deadline) = (now, now.saturating_add(self.terms.patience));
    }

    fn see(&mut self, seen: &Seen, _: &mut Vec<Order>) {
        match &seen.what {
            What::Ready { switch, .. } => {
                self.ready.insert(*switch);
                self.most = self.most.max(self.ready.len());
                self.deadline = seen.at.saturating_add(self.terms.patience);
                if self.ready.len() == self.switches as usize {
                    self.conclude(
                        "all switches had a session: the capacity is at least this".into(),
                    );
                }
            }
            What::Lost { switch, reason, .. } => {
                let held = self.ready.remove(switch);
                let what = if held { "dropped a session" } else { "refused a session" };
                self.conclude(format!(
                    "the controller {what} when {} of {} switches had asked for one: {reason}",
                    self.asked, self.switches
                ));
            }
            _ => {}
        }
    }

    fn wake(&mut self, now: u64, orders: &mut Vec<Order>) {
        while self.next <= now && self.asked < self.switches {
            orders.push(Order::Connect { switch: self.asked });
            self.asked += 1;
            self.next = self.next.saturating_add(self.terms.spacing);
        }
        if self.asked == self.switches {
            self.next = u64::MAX;
        }
        if now >= self.deadline {
            let patience = seconds(self.terms.patience);
            self.conclude(format!("no further session was opened within {patience} s"));
        }
    }

    fn due(&self) -> u64 {
        self.next.min(self.deadline)
    }

    fn measured(&self) -> Option<Measured> {
        self.measured.clone()
    }
}

/// The least number of queries before the test ends without a result, if the number of entries does
/// not settle. They are counted from the last flow or the last new maximum, whichever is later.
/// This number matters if queries take longer than the timeout `terms.patience`.
const UNSETTLED_READINGS: u32 = 3 * SAME_ANSWERS;

/// The test of the forwarding table capacity. New flows are offered continuously, and the
/// controller installs rules for a flow when its first packet arrives. The test ends when three
/// consecutive queries return the same number of flow entries. It has no result if the number still
/// changes, without a new maximum, for the time `terms.patience` and [`UNSETTLED_READINGS`] queries
/// after the last flow.
pub(in crate::rfc8456) struct FlowCapacity {
    terms: Terms,
    scene: Scene,
    /// The number of flows that have been offered.
    flows: u32,
    /// The time at which the next flow is offered.
    next: u64,
    /// The time at which the number of entries is queried next.
    look_at: u64,
    /// The number of entries that the switches refused.
    refused: u64,
    /// The number of flow entries that the last query returned, and the number of consecutive
    /// queries that returned it.
    entries: Option<(u64, u32)>,
    /// The number of entries before the first flow was offered, such as table-miss entries.
    before: Option<u64>,
    /// The largest number of entries that any query has returned.
    most: u64,
    /// The time by which the controller must have installed its first entry. Otherwise it is
    /// assumed not to install any.
    first_by: u64,
    /// The time by which the number of entries must reach a new maximum or stop changing. It is
    /// infinite while flows are offered.
    rest_by: u64,
    /// The number of queries since the last flow or the last new maximum, whichever is later.
    unsettled: u32,
    measured: Option<Measured>,
}

impl FlowCapacity {
    pub(in crate::rfc8456) fn new(terms: Terms, scene: Scene) -> Self {
        Self {
            terms,
            scene,
            flows: 0,
            next: u64::MAX,
            look_at: u64::MAX,
            refused: 0,
            entries: None,
            before: None,
            most: 0,
            first_by: u64::MAX,
            rest_by: u64::MAX,
            unsettled: 0,
            measured: None,
        }
    }

    /// Ends the trial with the number of entries that several consecutive queries returned. The
    /// trial has no result if the controller has no entry of its own, unless the switches refused
    /// all entries.
    fn conclude(&mut self, entries: u64, now: u64) {
        let all_offered = self.flows >= self.terms.most_flows;
        let (remark, value) = if self.refused > 0 {
            let limit = "the tables of the emulated switches were the limit; see --table-size";
            (Some(limit.to_owned()), Some(entries as f64))
        } else if entries > 0 {
            let lower_bound =
                "all flows were offered: the capacity is at least this (--rfc8456-flows)";
            (all_offered.then(|| lower_bound.to_owned()), Some(entries as f64))
        } else if self.most > 0 {
            let gone = "all entries were removed again before three readings in a row were equal";
            (Some(gone.to_owned()), None)
        } else if now >= self.first_by {
            let none = format!("the controller installed no entry for {} new flows", self.flows);
            (Some(none), None)
        } else {
            return;
        };
        self.end(value, remark);
    }

    fn end(&mut self, value: Option<f64>, remark: Option<String>) {
        let measured = Measured { value, remark, ..Measured::default() }
            .with("flows offered", self.flows.into(), Unit::Count)
            .with("entries refused by switches", self.refused as f64, Unit::Count)
            .with("most entries at a time", self.most as f64, Unit::Count);
        self.measured = Some(measured);
    }
}

impl Procedure for FlowCapacity {
    fn begin(&mut self, _: u64, orders: &mut Vec<Order>) {
        orders.push(Order::AskFlows);
    }

    fn see(&mut self, seen: &Seen, _: &mut Vec<Order>) {
        match &seen.what {
            What::Flows(Ok(entries)) if self.before.is_none() => {
                self.before = Some(*entries);
                (self.next, self.look_at) = (seen.at, seen.at.saturating_add(self.terms.interval));
                self.first_by = seen.at.saturating_add(self.terms.patience);
            }
            What::Rules { refused, .. } => self.refused += u64::from(*refused),
            What::Flows(Ok(entries)) => {
                let entries = &entries.saturating_sub(self.before.unwrap_or(0));
                self.unsettled += 1;
                if *entries > self.most {
                    self.most = *entries;
                    self.unsettled = 0;
                    if self.rest_by != u64::MAX {
                        self.rest_by = seen.at.saturating_add(self.terms.patience);
                    }
                }
                let times = match self.entries {
                    Some((before, times)) if before == *entries => times + 1,
                    _ => 1,
                };
                self.entries = Some((*entries, times));
                if times >= SAME_ANSWERS {
                    self.conclude(*entries, seen.at);
                } else if seen.at >= self.rest_by && self.unsettled >= UNSETTLED_READINGS {
                    let patience = seconds(self.terms.patience);
                    let changes = format!(
                        "the number of entries still changed {patience} s after the last flow and the last \
                         maximum, and no three readings in a row were equal"
                    );
                    self.end(None, Some(changes));
                }
            }
            What::Flows(Err(error)) => {
                self.measured =
                    Some(Measured::failed(format!("the entries cannot be counted: {error}")));
            }
            _ => {}
        }
    }

    fn wake(&mut self, now: u64, orders: &mut Vec<Order>) {
        while self.next <= now && self.flows < self.terms.most_flows {
            let pairs = self.scene.pairs().max(1);
            let Some(pair) = self.scene.pair(self.flows % pairs) else {
                self.measured = Some(Measured::failed(
                    "there are no two hosts behind different switches; see --switches and --hosts",
                ));
                return;
            };
            orders.push(self.scene.stranger(pair, self.flows));
            self.flows += 1;
            self.next = self.next.saturating_add(self.terms.spacing);
        }
        if self.flows >= self.terms.most_flows && self.next != u64::MAX {
            self.next = u64::MAX;
            self.unsettled = 0;
            self.rest_by = now.saturating_add(self.terms.patience);
        }
        if now >= self.look_at {
            self.look_at = now.saturating_add(self.terms.interval);
            orders.push(Order::AskFlows);
        }
    }

    fn due(&self) -> u64 {
        self.next.min(self.look_at)
    }

    fn measured(&self) -> Option<Measured> {
        self.measured.clone()
    }
}
