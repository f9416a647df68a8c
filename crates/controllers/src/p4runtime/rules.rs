//! The rules of one switch: which rules exist, and the updates that install and remove rules.
//!
//! Over P4Runtime, a switch does not remove an idle rule itself, but reports it (P4Runtime
//! specification 1.5, "Table Idle Timeout"). [`RuleBook`] therefore knows which rules exist, and
//! can choose between INSERT and MODIFY. It performs no I/O: its caller writes the updates and
//! reports their results.

use std::collections::HashMap;
use std::time::Duration;

use ::p4runtime::client::UpdateError;
use ::p4runtime::proto::v1::{self, update::Type};
use ::p4runtime::status::Code;

use super::entities;
use crate::application::{Flow, Port, Rule};
use crate::counters::Tally;

/// A request to install a rule on a switch, or to remove one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Installs the rule on the switch.
    Install(Rule),
    /// Removes the rule that matches the flow, because it was idle or belongs to an old path.
    Remove(Flow),
}

/// The treatment of a request for a rule that is already installed. Such a request arises from a
/// packet that the switch sent to the controller although the rule exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeated {
    /// Leaves the rule unchanged. The switch sent the packet before it had the rule.
    Leave,
    /// Writes the rule again, so that every packet-in causes a write.
    Write,
}

/// The output port of an installed rule, if it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Installed {
    To(Port),
    /// Another controller installed the rule, so its output port is unknown.
    Elsewhere,
}

/// A record of the rules that are installed on one switch.
#[derive(Debug)]
pub(super) struct RuleBook {
    idle_timeout_ns: i64,
    repeated: Repeated,
    installed: HashMap<Flow, Installed>,
    /// The orders whose updates are being written, in the order of the updates. Each has the type
    /// of its update.
    planned: Vec<(Type, Order)>,
}

impl RuleBook {
    /// Creates the record of a switch that has no rules.
    pub(super) fn new(idle_timeout: Duration, repeated: Repeated) -> Self {
        let idle_timeout_ns = i64::try_from(idle_timeout.as_nanos()).unwrap_or(i64::MAX);
        Self { idle_timeout_ns, repeated, installed: HashMap::new(), planned: Vec::new() }
    }

    /// Returns the updates that carry out the orders. There is at most one update per flow, that of
    /// the flow's last order, since a switch need not follow the order of a batch ("Batching and
    /// Ordering of Updates").
    pub(super) fn plan(&mut self, orders: impl IntoIterator<Item = Order>) -> Vec<v1::Update> {
        let mut places = HashMap::new();
        let mut last: Vec<Order> = Vec::new();
        for order in orders {
            let place = *places.entry(order.flow()).or_insert(last.len());
            match last.get_mut(place) {
                Some(earlier) => *earlier = order,
                None => last.push(order),
            }
        }
        self.planned.clear();
        let mut updates = Vec::with_capacity(last.len());
        for order in last {
            let there = self.installed.get(&order.flow()).copied();
            let (kind, entity) = match order {
                Order::Install(rule)
                    if there == Some(Installed::To(rule.output))
                        && self.repeated == Repeated::Leave =>
                {
                    continue;
                }
                Order::Install(rule) => {
                    let kind = if there.is_some() { Type::Modify } else { Type::Insert };
                    (kind, entities::rule(&rule, self.idle_timeout_ns))
                }
                Order::Remove(_) if there.is_none() => continue,
                Order::Remove(flow) => (Type::Delete, entities::rule_key(&flow)),
            };
            self.planned.push((kind, order));
            updates.push(entities::update(kind, entity));
        }
        updates
    }

    /// Records the results of writing the updates that `RuleBook::plan` returned. All were
    /// accepted except those in `refused`. Returns the numbers of accepted and of refused updates.
    pub(super) fn written(&mut self, refused: &[UpdateError]) -> Tally {
        let mut tally = Tally::default();
        for (index, (kind, order)) in self.planned.drain(..).enumerate() {
            let flow = order.flow();
            match (refused.iter().find(|one| one.index == index), order) {
                (None, Order::Install(rule)) => {
                    tally.rules += 1;
                    self.installed.insert(flow, Installed::To(rule.output));
                }
                (None, Order::Remove(_)) => {
                    self.installed.remove(&flow);
                }
                (Some(refusal), _) => {
                    tally.refused += 1;
                    match (refusal.code, kind) {
                        // The next packet of the flow causes a MODIFY.
                        (Code::AlreadyExists, Type::Insert) => {
                            self.installed.insert(flow, Installed::Elsewhere);
                        }
                        (Code::NotFound, _) => {
                            self.installed.remove(&flow);
                        }
                        _ => {}
                    }
                }
            }
        }
        tally
    }
}

impl Order {
    fn flow(&self) -> Flow {
        match self {
            Self::Install(rule) => rule.flow,
            Self::Remove(flow) => *flow,
        }
    }
}

#[cfg(test)]
mod tests {
    use ::openflow::MacAddress;

    use super::*;

    fn flow(number: u64) -> Flow {
        let (source, destination) = (MacAddress::from_bits(number), MacAddress::from_bits(99));
        Flow { ingress: Port(1), source, destination }
    }

    fn install(number: u64, output: u32) -> Order {
        Order::Install(Rule { flow: flow(number), output: Port(output) })
    }

    fn book() -> RuleBook {
        RuleBook::new(Duration::from_secs(10), Repeated::Leave)
    }

    fn kinds(updates: &[v1::Update]) -> Vec<Type> {
        updates.iter().map(v1::Update::r#type).collect()
    }

    fn refusal(index: usize, code: Code) -> UpdateError {
        UpdateError { index, code, message: String::new() }
    }

    #[test]
    fn a_rule_is_inserted_once_modified_when_it_changes_and_deleted_when_idle() {
        let mut book = book();
        let expected = Tally { rules: 1, ..Tally::default() };
        assert_eq!(kinds(&book.plan([install(1, 2)])), [Type::Insert]);
        assert_eq!(book.written(&[]), expected);
        assert_eq!(book.plan([install(1, 2)]), []);
        assert_eq!(kinds(&book.plan([install(1, 3)])), [Type::Modify]);
        assert_eq!(book.written(&[]), expected);
        let updates = book.plan([Order::Remove(flow(1))]);
        assert_eq!(kinds(&updates), [Type::Delete]);
        assert_eq!(updates[0].entity, Some(entities::rule_key(&flow(1))));
        assert_eq!(book.written(&[]), Tally::default());
        assert_eq!(book.plan([Order::Remove(flow(1))]), []);
        assert_eq!(kinds(&book.plan([install(1, 3)])), [Type::Insert]);
    }

    #[test]
    fn a_rule_can_be_written_for_every_packet() {
        let mut book = RuleBook::new(Duration::ZERO, Repeated::Write);
        for expected in [Type::Insert, Type::Modify, Type::Modify] {
            assert_eq!(kinds(&book.plan([install(1, 2), install(1, 2)])), [expected]);
            assert_eq!(book.written(&[]).rules, 1);
        }
    }

    #[test]
    fn a_batch_has_one_update_for_a_flow() {
        let mut book = book();
        let orders = [install(1, 2), install(2, 2), install(1, 5), install(1, 7)];
        let updates = book.plan(orders);
        assert_eq!(kinds(&updates), [Type::Insert, Type::Insert]);
        let rule = Rule { flow: flow(1), output: Port(7) };
        assert_eq!(updates[0].entity, Some(entities::rule(&rule, 10_000_000_000)));
        book.written(&[]);
        // The rule was idle and is wanted again. It exists, so nothing is to be done.
        assert_eq!(book.plan([Order::Remove(flow(1)), install(1, 7)]), []);
    }

    #[test]
    fn refused_updates_correct_the_record_of_rules() {
        let mut book = book();
        book.plan([install(1, 2), install(2, 2), install(3, 2)]);
        let refused = [refusal(0, Code::AlreadyExists), refusal(2, Code::ResourceExhausted)];
        assert_eq!(book.written(&refused), Tally { rules: 1, refused: 2, ..Tally::default() });
        let updates = book.plan([install(1, 2), install(2, 2), install(3, 2)]);
        assert_eq!(kinds(&updates), [Type::Modify, Type::Insert]);
        book.written(&[refusal(0, Code::NotFound)]);
        assert_eq!(kinds(&book.plan([install(1, 2)])), [Type::Insert]);
    }

    #[test]
    fn the_flow_of_an_entry_is_read_back() {
        let flow = Flow {
            ingress: Port(511),
            source: MacAddress([2, 0, 0, 0, 0, 1]),
            destination: MacAddress([0; 6]),
        };
        let entry = |entity: v1::Entity| match entity.entity {
            Some(v1::entity::Entity::TableEntry(entry)) => entry,
            other => panic!("{other:?}"),
        };
        let rule = Rule { flow, output: Port(1) };
        assert_eq!(entities::flow_of(&entry(entities::rule(&rule, 1))), Some(flow));
        assert_eq!(entities::flow_of(&entry(entities::arp_to_controller())), None);
        let mut partial = entry(entities::rule_key(&flow));
        partial.r#match.pop();
        assert_eq!(entities::flow_of(&partial), None);
    }
}
