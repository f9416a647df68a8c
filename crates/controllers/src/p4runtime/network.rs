//! The network of a controller's switches. One place processes the events at all switches, and
//! passes the tasks that result to the switches that must carry them out.
//!
//! The controller sends a packet that starts a new path only after all rules of the path have been
//! written, so that the rules forward the packet.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

use super::rules::Order;
use crate::application::paths::{self, Command, SwitchId};
use crate::application::{Port, Rule};

/// The maximum number of tasks that may wait for a switch. Further tasks are dropped, which is
/// harmless, since the next packet of their flow causes new ones.
const TASKS: usize = 8192;

/// A task that the session of a switch must carry out.
#[derive(Debug)]
pub(super) enum Task {
    /// Installs or removes a rule. The packets in the second value are sent after the rule is
    /// written.
    Rule(Order, Option<Arc<Afterwards>>),
    /// Sends a packet out of ports.
    PacketOut { ingress: Option<Port>, outputs: Vec<Port>, frame: Vec<u8> },
}

/// Packets that must not be sent before several rules are written. All tasks that write these rules
/// share this value, and it sends the packets when it is dropped, together with the last of the
/// tasks.
#[derive(Debug)]
pub(super) struct Afterwards(Vec<(mpsc::Sender<Task>, Task)>);

impl Drop for Afterwards {
    fn drop(&mut self) {
        for (switch, task) in self.0.drain(..) {
            // The task is dropped if the queue is full (see `TASKS`).
            let _ = switch.try_send(task);
        }
    }
}

/// The network of all switches of a controller.
#[derive(Debug, Default)]
pub(super) struct Network(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    paths: paths::Network,
    switches: HashMap<SwitchId, mpsc::Sender<Task>>,
}

impl Network {
    /// Adds a switch that has connected, with the ports that are up. Returns a handle of the switch
    /// and the queue of its tasks. Dropping the handle removes the switch from the network.
    pub(super) fn enter(
        &self,
        id: SwitchId,
        ports: impl IntoIterator<Item = Port>,
    ) -> (Member<'_>, mpsc::Receiver<Task>) {
        let (tasks, inbox) = mpsc::channel(TASKS);
        let mut inner = self.lock();
        inner.switches.insert(id, tasks);
        let commands = inner.paths.switch_up(id, ports);
        inner.hand_out(commands);
        (Member { network: self, id }, inbox)
    }

    /// Calls `look` with the current state of the network.
    pub(super) fn look(&self, look: &mut dyn FnMut(&paths::Network)) {
        look(&self.lock().paths);
    }

    /// Installs a rule on a switch. Returns whether the switch is connected.
    pub(super) fn install(&self, switch: SwitchId, rule: Rule) -> bool {
        let mut inner = self.lock();
        let commands = inner.paths.install(switch, rule);
        let is_there = commands.is_some();
        inner.hand_out(commands.unwrap_or_default());
        is_there
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Converts commands to tasks and passes them to the switches. The caller must hold the lock on
    /// the network, so that switches receive their tasks in the order of the decisions.
    fn hand_out(&self, commands: Vec<Command>) {
        let (mut rules, mut packets) = (Vec::new(), Vec::new());
        for command in commands {
            let Some(switch) = self.switches.get(&command.switch()) else { continue };
            match command {
                Command::PacketOut { ingress, outputs, frame, .. } => {
                    packets.push((switch.clone(), Task::PacketOut { ingress, outputs, frame }));
                }
                Command::Install { rule, .. } => rules.push((switch, Order::Install(rule))),
                Command::Remove { flow, .. } => rules.push((switch, Order::Remove(flow))),
            }
        }
        let afterwards = (!packets.is_empty()).then(|| Arc::new(Afterwards(packets)));
        for (switch, order) in rules {
            let _ = switch.try_send(Task::Rule(order, afterwards.clone()));
        }
    }
}

/// A switch that is connected to the controller. Dropping this value removes the switch from the
/// network.
#[derive(Debug)]
pub(super) struct Member<'a> {
    network: &'a Network,
    id: SwitchId,
}

impl Member<'_> {
    /// Processes a packet from the switch.
    pub(super) fn packet_in(&self, port: Port, frame: &[u8]) {
        self.decide(|paths, id| paths.packet_in(id, port, frame));
    }

    /// Records that a port of the switch went down or came up.
    pub(super) fn port_changed(&self, port: Port, is_up: bool) {
        self.decide(|paths, id| paths.port_changed(id, port, is_up));
    }

    fn decide(&self, decide: impl FnOnce(&mut paths::Network, SwitchId) -> Vec<Command>) {
        let mut inner = self.network.lock();
        let commands = decide(&mut inner.paths, self.id);
        inner.hand_out(commands);
    }
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        let mut inner = self.network.lock();
        inner.switches.remove(&self.id);
        let commands = inner.paths.switch_down(self.id);
        inner.hand_out(commands);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::application::paths::tests::{frame, mac};

    fn taken(inbox: &mut mpsc::Receiver<Task>) -> Vec<Task> {
        std::iter::from_fn(|| inbox.try_recv().ok()).collect()
    }

    #[test]
    fn a_packet_is_sent_once_the_rules_of_its_path_are_written() {
        let network = Network::default();
        let (first, mut first_inbox) = network.enter(SwitchId(1), [1, 2].map(Port));
        let (second, mut second_inbox) = network.enter(SwitchId(2), [1, 2].map(Port));
        // Port 1 of each switch leads to the other switch.
        for (from, to) in [(&mut first_inbox, &second), (&mut second_inbox, &first)] {
            let lldp = taken(from).into_iter().find_map(|task| match task {
                Task::PacketOut { outputs, frame, .. } if outputs == [Port(1)] => Some(frame),
                _ => None,
            });
            to.packet_in(Port(1), &lldp.expect("a discovery frame"));
        }
        first.packet_in(Port(2), &frame(mac(9), mac(1)));
        taken(&mut first_inbox);
        taken(&mut second_inbox);
        second.packet_in(Port(2), &frame(mac(1), mac(2)));
        let [at_first, at_second] = [&mut first_inbox, &mut second_inbox].map(taken);
        let [Task::Rule(Order::Install(_), Some(_))] = &at_first[..] else {
            panic!("{at_first:?}")
        };
        assert!(matches!(&at_second[..], [Task::Rule(Order::Install(_), Some(_))]));
        drop(at_second);
        assert!(taken(&mut second_inbox).is_empty(), "a rule of the path is not written yet");
        drop(at_first);
        let packets = taken(&mut second_inbox);
        assert!(
            matches!(&packets[..], [Task::PacketOut { outputs, .. }] if *outputs == [Port(1)]),
            "{packets:?}"
        );
        // A switch that is gone takes its links with it.
        drop(first);
        second.packet_in(Port(2), &frame(mac(1), mac(2)));
        let flooded = taken(&mut second_inbox);
        let [Task::Rule(Order::Remove(_), None), Task::PacketOut { outputs, .. }] = &flooded[..]
        else {
            panic!("{flooded:?}")
        };
        assert_eq!(*outputs, [Port(1)]);
    }
}
