//! The long-term loads of servers, which show whether servers are overloaded.

use super::elements::ServerId;
use super::model::Network;
use crate::Extended;

/// The load of a server: the long-term rate of its traffic, and that of its service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// The server.
    pub server: ServerId,
    /// The long-term rate of the server's arrivals, in data per time.
    pub arrival_rate: Extended,
    /// The long-term rate of the server's service, in data per time.
    pub service_rate: Extended,
}

impl Load {
    /// Returns whether the server is overloaded: its arrival rate exceeds its service rate, so that
    /// no bound exists there.
    pub fn is_over(&self) -> bool {
        self.arrival_rate > self.service_rate
    }

    /// Returns the arrival rate divided by the service rate. The quotient is 1 for a server whose
    /// arrival and service rates are equal.
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
    /// Returns the load of each server, in the order of servers.
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
