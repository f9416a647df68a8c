//! Computes the service of round robin, taking the arrivals of the other classes into account.
//!
//! The service curves of `port::turns` hold whatever other classes send. In a network their
//! arrivals are known: if class j has the arrival curve alpha_j and the service curve beta_j, its
//! output within any time is at most alpha_j ⊘ beta_j. Take any set of other classes. While a class
//! is backlogged for a time t, the link of rate c sends c t. All of this but the output of the set
//! comes from the class itself and the remaining classes. With the psi of the class and the
//! remaining ones (`port::turns`), the class is served at least
//!
//! > psi^-1([c t - sum of alpha_j ⊘ beta_j]+),
//!
//! made non-decreasing, where the sum is over the set. Each set yields a strict service curve, and
//! the maximum of these curves is a strict service curve as well. Larger service makes delays and
//! thus the alpha_j smaller, so the step is repeated (Tabatabaee and Le Boudec, "Deficit
//! round-robin: a second network calculus analysis", IEEE/ACM Transactions on Networking 30, 2022,
//! theorem 3; its proof for deficits holds for any staircase psi).

use super::fixed_point::Delays;
use super::{AnalysisError, operations};
use crate::network::arrival::Common;
use crate::network::elements::{Priority, ServerId};
use crate::network::model::Network;
use crate::network::port::Port;
use crate::network::settings::Settings;
use crate::{Curve, Rational};

/// The largest number of rounds, each of which computes service curves from those of the previous
/// round. The service curves of every round are valid.
const MAX_ROUNDS: usize = 4;
/// The largest number of other classes for which every set of these classes is tried. If there are
/// more, only the sets of a single class and the set of all classes are tried.
const MAX_CLASSES_FOR_ALL_SETS: usize = 5;
/// The largest number of pieces of a service curve that is kept. The maximum of curves with similar
/// rates may have many pieces, because the curves meet late.
const MAX_PIECES: usize = 256;

/// A class of a port, with its server and the arrival curve of its output.
struct Queue {
    server: ServerId,
    priority: Priority,
    /// The arrival curve of the class's output, or `None` if there is no bound or the class has no
    /// flows.
    output: Option<Curve>,
}

impl Network {
    /// Returns the network with larger service curves at ports with round robin, which take into
    /// account that other classes send less than their share allows. A class without flows counts
    /// as if it used its full share. Of the settings only the order of service matters.
    ///
    /// # Errors
    ///
    /// Returns an [`AnalysisError`] if the delays in the network cannot be bounded.
    pub fn arrival_aware(&self, settings: &Settings) -> Result<Self, AnalysisError> {
        let mut aware = self.clone();
        for _ in 0..MAX_ROUNDS {
            let better = services(&aware, settings)?;
            if better.is_empty() {
                break;
            }
            aware = aware.with_services(better);
        }
        Ok(aware.known_as_arrival_aware())
    }
}

/// Returns the servers of classes whose service curves grow in this round, with the new curves.
fn services(
    network: &Network,
    settings: &Settings,
) -> Result<Vec<(ServerId, Curve)>, AnalysisError> {
    let mut ports: Vec<(&Port, Vec<ServerId>)> = Vec::new();
    for (server, _) in network.servers() {
        let Some((port, _)) = network.port_at(server).filter(|(port, _)| port.takes_turns()) else {
            continue;
        };
        match ports.iter_mut().find(|(known, _)| std::ptr::eq(*known, port)) {
            Some((_, servers)) => servers.push(server),
            None => ports.push((port, vec![server])),
        }
    }
    if ports.is_empty() {
        return Ok(Vec::new());
    }
    let common = Common::new(network, settings.clone());
    let delays = Delays::of(&common)?;
    let mut better = Vec::new();
    for (port, servers) in ports {
        let mut queues = Vec::with_capacity(servers.len());
        for server in servers {
            queues.extend(queue(&common, &delays, server)?);
        }
        for own in &queues {
            let before = &network.server(own.server).service;
            let service = service(port, own, &queues, before)?;
            if service != *before {
                better.push((own.server, service));
            }
        }
    }
    Ok(better)
}

fn queue(
    common: &Common<'_>,
    delays: &Delays,
    server: ServerId,
) -> Result<Option<Queue>, AnalysisError> {
    let network = common.network;
    let Some((_, [priority])) = network.port_at(server) else { return Ok(None) };
    let mut output = None;
    if !network.flows_at(server).is_empty() {
        // Concave and convex hulls avoid sums with long periods.
        let arrival = operations::concave_above(&delays.arrivals(common, server)?);
        let service = operations::convex_below(&network.server(server).service);
        let leaves = operations::deconvolution(&arrival, &service)?;
        output = leaves.ultimate_rate().is_finite().then_some(leaves);
    }
    Ok(Some(Queue { server, priority: *priority, output }))
}

/// Returns the service curve of a class, which is nowhere below `before`, the current one.
fn service(
    port: &Port,
    own: &Queue,
    queues: &[Queue],
    before: &Curve,
) -> Result<Curve, AnalysisError> {
    let others: Vec<(Priority, &Curve)> = queues
        .iter()
        .filter(|queue| queue.server != own.server)
        .filter_map(|queue| Some((queue.priority, queue.output.as_ref()?)))
        .collect();
    let count = others.len();
    let sets: Vec<Vec<bool>> = match count <= MAX_CLASSES_FOR_ALL_SETS {
        true => (1..1_usize << count)
            .map(|set| (0..count).map(|place| set >> place & 1 == 1).collect())
            .collect(),
        false => {
            let alone = (0..count).map(|one| (0..count).map(|place| place == one).collect());
            std::iter::once(vec![true; count]).chain(alone).collect()
        }
    };
    let mut best = before.clone();
    for set in sets {
        let mut sent = Curve::zero();
        let mut known = Vec::new();
        for ((priority, output), _) in others.iter().zip(&set).filter(|(_, is_in)| **is_in) {
            sent = operations::sum(&sent, output)?;
            known.push(*priority);
        }
        let link = Curve::line(Rational::ZERO, port.rate.clone());
        let left = operations::left_over(&link, &sent)?;
        let Some(turns) = port.turns_without(own.priority, &known)? else { continue };
        // The convex hull has no period, which could be too long to compute with.
        let service = turns.composition(&left)?.delayed(&port.latency);
        let both = best.maximum(&operations::convex_below(&service))?;
        if both.pieces().len() <= MAX_PIECES {
            best = both;
        }
    }
    Ok(best)
}
