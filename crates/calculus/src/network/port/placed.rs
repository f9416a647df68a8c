//! The ports of a network: the servers of their queues, and checks of the flows that pass them.

use std::collections::HashMap;

use super::{Port, Queue};
use crate::network::elements::{Flow, ModelError, Priority, ServerId};
use crate::{Extended, Rational};

/// The ports of a network, and the servers that stand for their queues.
#[derive(Clone, Debug, Default)]
pub(in crate::network) struct Ports {
    ports: Vec<Port>,
    /// The port's index and the classes in the queue, by the server that stands for the queue.
    queues: HashMap<ServerId, (usize, Vec<Priority>)>,
}

impl Ports {
    /// Adds a port, given the servers of its queues and the classes in each queue.
    pub(in crate::network) fn add(&mut self, port: Port, queues: Vec<(ServerId, Vec<Priority>)>) {
        let place = self.ports.len();
        self.queues.extend(queues.into_iter().map(|(id, classes)| (id, (place, classes))));
        self.ports.push(port);
    }

    /// Returns the index of the port to which a server belongs, the port itself, and the classes in
    /// the server's queue, or `None` for other servers.
    pub(in crate::network) fn at(&self, server: ServerId) -> Option<(usize, &Port, &[Priority])> {
        let (place, classes) = self.queues.get(&server)?;
        Some((*place, self.ports.get(*place)?, classes))
    }

    pub(in crate::network) fn is_empty(&self) -> bool {
        self.ports.is_empty()
    }

    /// Checks that each flow belongs to a class of each queue that it passes, and that its packets
    /// fit.
    pub(in crate::network) fn check(&self, flows: &[Flow]) -> Result<(), ModelError> {
        if self.is_empty() {
            return Ok(());
        }
        for flow in flows {
            for server in &flow.path {
                if let Some((_, port, classes)) = self.at(*server) {
                    check_flow(flow, port, classes)?;
                }
            }
        }
        Ok(())
    }
}

fn check_flow(flow: &Flow, port: &Port, classes: &[Priority]) -> Result<(), ModelError> {
    let fault = |fault| {
        let (flow, port) = (flow.name.clone(), port.name.clone());
        Err(ModelError::Port { flow, port, fault })
    };
    if !classes.contains(&flow.priority) {
        return fault("in a queue of other classes; its priority says which queue it takes");
    }
    let packets = port.scheduler.packets();
    let most = packets.iter().find(|(priority, ..)| *priority == flow.priority);
    let packet = &flow.maximum_packet;
    if !packet.is_positive() || !packet.is_integer() {
        return fault("and needs a maximum packet of a whole number of bits above zero");
    }
    if most.is_some_and(|(_, least, most)| packet > most || packet < least) {
        return fault(
            "and has a maximum packet beyond those of its class; raise the range of packets of the class",
        );
    }
    if flow.arrival.right_limit_at(&Rational::ZERO) < Extended::from(packet) {
        return fault("and may never send its maximum packet; raise its burst to that");
    }
    Ok(())
}

impl Queue {
    /// Returns the classes in the queue and the server that stands for the queue.
    pub(in crate::network) fn into_parts(self) -> (Vec<Priority>, crate::network::Server) {
        (self.priorities, self.server)
    }
}
