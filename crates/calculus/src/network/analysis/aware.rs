//! Round robin whose classes count with what they send.
//!
//! The service curves of `port::turns` hold whatever other classes send. What they do send is known in a network: if class j has
//! arrivals alpha_j and the service curve beta_j, no more than alpha_j ⊘ beta_j leaves it within any time. So, for any set of other classes,
//! while a class always has something to send within t, the link sends at least c t less what those of the set send, of that class
//! and the remaining ones: with the psi of these alone, x >= psi^-1([c t - sum of alpha_j ⊘ beta_j]+), made non-decreasing. Each set
//! gives a strict service curve, and their maximum is one; smaller delays give smaller alpha_j, and so on (Tabatabaee and Le Boudec,
//! "Deficit round-robin: a second network calculus analysis", IEEE/ACM Transactions on Networking 30, 2022, theorem 3; what
//! is said there of deficits holds for any staircase psi).

use super::fixed_point::Delays;
use super::{AnalysisError, operations};
use crate::network::arrival::Common;
use crate::network::elements::{Priority, ServerId};
use crate::network::model::Network;
use crate::network::port::Port;
use crate::network::settings::Settings;
use crate::{Curve, Rational};

/// Rounds, at most; each is sound without the next.
const ROUNDS: usize = 4;
/// Other classes of which all sets are tried; of more, each alone and all.
const ALL_SETS: usize = 5;
/// Pieces of a service, at most: of two rates that are close, the larger overtakes late.
const LONGEST: usize = 256;

/// A class of a port whose flows are known.
struct Queue {
    server: ServerId,
    priority: Priority,
    /// What leaves within any time, at most; none if there is no bound, or nobody knows what comes.
    output: Option<Curve>,
}

impl Network {
    /// Returns the network with the service that classes get at ports with round robin because
    /// others send less than their share lets them; classes without flows count with all of that.
    /// Of the settings the order of service matters.
    ///
    /// # Errors
    ///
    /// [`AnalysisError`], where delays cannot be bounded at all.
    pub fn arrival_aware(&self, settings: &Settings) -> Result<Self, AnalysisError> {
        let mut aware = self.clone();
        for _ in 0..ROUNDS {
            let better = services(&aware, settings)?;
            if better.is_empty() {
                break;
            }
            aware = aware.with_services(better);
        }
        Ok(aware.known_as_arrival_aware())
    }
}

/// Larger services of queues, where there are any.
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
        // Simple curves around both, so that sums have no long periods.
        let arrival = operations::concave_above(&delays.arrivals(common, server)?);
        let service = operations::convex_below(&network.server(server).service);
        let leaves = operations::deconvolution(&arrival, &service)?;
        output = leaves.ultimate_rate().is_finite().then_some(leaves);
    }
    Ok(Some(Queue { server, priority: *priority, output }))
}

/// What a class gets, at least what it had before.
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
    let sets: Vec<Vec<bool>> = match count <= ALL_SETS {
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
        // Convex, so that no common period of several staircases is too long to compute with.
        let service = turns.composition(&left)?.delayed(&port.latency);
        let both = best.maximum(&operations::convex_below(&service))?;
        if both.pieces().len() <= LONGEST {
            best = both;
        }
    }
    Ok(best)
}
