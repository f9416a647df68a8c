//! The conditions under which regulators add nothing to delay bounds.
//!
//! Let E be the time at which a packet was regulated last, or sent by its source, A the time at
//! which it comes to a regulator, and D the time at which it leaves that. If what lies between E
//! and A keeps the order of all packets that share the queue of the regulator, if A <= E + d for
//! all of them, and if each flow keeps its curve at E, then D <= E + d: the regulator adds nothing
//! to the largest delay since the last regulation (Le Boudec, "A theory of traffic regulators for
//! deterministic networks with application to interleaved regulators", IEEE/ACM Transactions on
//! Networking 26, 2018, theorem 5; theorem 4 is that of one flow). By induction in the order of the
//! queue: a packet leaves when it has come, the one in front of it has left, and its flow may send
//! it. The first is at E + d at the latest; the second, too, since E grows along the queue; and the
//! third, since the flow keeps its curve at E + d.
//!
//! Servers that serve in the order of arrival keep the order of flows that come to the first of
//! them and go the same way from there on. A flow that joins later, or one that was regulated
//! later, breaks it: what it finds in front of it is late already and may be held back. Delays may
//! then grow without bound (Thomas and Le Boudec, "Network-calculus service curves of the
//! interleaved regulator", Performance Evaluation 166, 2024), so that is refused.

use std::collections::BTreeMap;

use super::AnalysisError;
use super::elements::{FlowId, Multiplexing, Priority, Regulator, ServerId};
use super::model::Network;
use super::settings::Settings;

/// Checks that every interleaved regulator is behind a system that keeps the order of its packets.
///
/// # Errors
///
/// [`AnalysisError::NotInOrder`] and [`AnalysisError::OvertakesRegulated`].
pub(super) fn check(network: &Network, settings: &Settings) -> Result<(), AnalysisError> {
    for (server, next) in network.turns() {
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

/// Checks the flows of one queue of the regulator behind a server.
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

/// The servers of a flow's path from its last regulation, or its source, up to a server.
fn since_regulation(network: &Network, flow: FlowId, server: ServerId) -> &[ServerId] {
    let path = &network.flow(flow).path;
    let Some(end) = network.position(flow, server) else { return &[] };
    let before = path.get(..end).unwrap_or_default();
    let regulated = before.iter().rposition(|id| network.server(*id).regulator.is_some());
    path.get(regulated.map_or(0, |place| place + 1)..=end).unwrap_or_default()
}
