//! The conditions under which regulators do not increase delay bounds.
//!
//! For a packet, let E be the time of its last regulation, or of its sending, A the time at which
//! it arrives at a regulator, and D the time at which it leaves the regulator. Assume that the
//! system between E and A preserves the order of all packets that share the queue of the regulator,
//! that A <= E + d for all of them, and that each flow conforms to its arrival curve at E. Then D
//! <= E + d: the regulator does not increase the worst-case delay since the last regulation (Le
//! Boudec, "A theory of traffic regulators for deterministic networks with application to
//! interleaved regulators", IEEE/ACM Transactions on Networking 26, 2018, theorem 5; theorem 4 is
//! the case of one flow). The proof is by induction in the order of the queue. A packet leaves once
//! it has arrived, the packet before it has left, and its flow's arrival curve allows it. The first
//! condition is met by E + d. So is the second, since E increases along the queue, and so is the
//! third, since the flow conforms at E + d.
//!
//! FIFO servers preserve the order of flows that share their path from the first of these servers
//! on. A flow that joins later, or that was regulated later, breaks the order: packets before it in
//! the queue are late already and may be held back. Delays may then grow without bound (Thomas and
//! Le Boudec, "Network-calculus service curves of the interleaved regulator", Performance
//! Evaluation 166, 2024), so this is an error.

use std::collections::BTreeMap;

use super::AnalysisError;
use super::elements::{FlowId, Multiplexing, Priority, Regulator, ServerId};
use super::model::Network;
use super::settings::Settings;

/// Checks that every interleaved regulator follows a system that preserves the order of the packets
/// in its queue.
///
/// # Errors
///
/// Returns [`AnalysisError::NotInOrder`] and [`AnalysisError::OvertakesRegulated`] if the order may
/// change.
pub(super) fn check(network: &Network, settings: &Settings) -> Result<(), AnalysisError> {
    for (server, next) in network.hops() {
        if network.server(server).regulator != Some(Regulator::Interleaved) {
            continue;
        }
        let mut queues = BTreeMap::<Priority, Vec<FlowId>>::new();
        for flow in network.flows_over(server, next) {
            queues.entry(network.flow(*flow).priority).or_default().push(*flow);
        }
        for flows in queues.values() {
            check_queue(network, settings, server, flows)?;
        }
    }
    Ok(())
}

/// Checks the flows that share one queue of the interleaved regulator behind a server.
fn check_queue(
    network: &Network,
    settings: &Settings,
    server: ServerId,
    flows: &[FlowId],
) -> Result<(), AnalysisError> {
    let name = |id: ServerId| network.server(id).name.clone();
    let Some((first, others)) = flows.split_first() else { return Ok(()) };
    let common = since_regulation(network, *first, server);
    for id in common {
        if settings.multiplexing_at(network.server(*id)) == Multiplexing::Arbitrary {
            let (regulator, server) = (name(server), name(*id));
            return Err(AnalysisError::NotInOrder { regulator, server });
        }
    }
    let entry = |servers: &[ServerId]| servers.first().map(|id| name(*id)).unwrap_or_default();
    for other in others {
        let own = since_regulation(network, *other, server);
        if own != common {
            return Err(AnalysisError::OvertakesRegulated {
                regulator: name(server),
                first: network.flow(*first).name.clone(),
                first_entry: entry(common),
                second: network.flow(*other).name.clone(),
                second_entry: entry(own),
            });
        }
    }
    Ok(())
}

/// Returns the part of a flow's path that ends at `server` and begins after the flow's last
/// regulation before that, or at its source.
fn since_regulation(network: &Network, flow: FlowId, server: ServerId) -> &[ServerId] {
    let path = &network.flow(flow).path;
    let Some(end) = network.position(flow, server) else { return &[] };
    let before = path.get(..end).unwrap_or_default();
    let regulated = before.iter().rposition(|id| network.server(*id).regulator.is_some());
    path.get(regulated.map_or(0, |place| place + 1)..=end).unwrap_or_default()
}
