//! Loads of servers.

use super::elements::ServerId;
use super::model::Network;
use crate::Extended;

/// Traffic of a server in the long run against its service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// The server.
    pub server: ServerId,
    /// Data per time that arrive in the long run.
    pub arrival_rate: Extended,
    /// Data per time that it serves in the long run.
    pub service_rate: Extended,
}

impl Load {
    /// Whether more arrives than is served, so that nothing can be bounded.
    pub fn is_over(&self) -> bool {
        self.arrival_rate > self.service_rate
    }

    /// Arrivals over service, 1 for a server that is exactly full.
    pub fn ratio(&self) -> f64 {
        match (&self.arrival_rate, &self.service_rate) {
            (Extended::Finite(arrivals), Extended::Finite(service)) => {
                arrivals.checked_div(service).map_or_else(
                    || if arrivals.is_positive() { f64::INFINITY } else { 0.0 },
                    |ratio| ratio.to_f64(),
                )
            }
            (Extended::Finite(_), _) => 0.0,
            _ => f64::INFINITY,
        }
    }
}

impl Network {
    /// The load of each server, in the order of servers.
    pub fn loads(&self) -> Vec<Load> {
        let loads = self.servers().map(|(id, server)| {
            let rates =
                self.flows_at(id).iter().map(|flow| self.flow(*flow).arrival.ultimate_rate());
            let arrival_rate = rates.fold(Extended::ZERO, |sum, rate| {
                sum.checked_add(&rate).unwrap_or(Extended::PositiveInfinity)
            });
            Load { server: id, arrival_rate, service_rate: server.service.ultimate_rate() }
        });
        loads.collect()
    }
}
