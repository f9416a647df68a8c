//! Bounds for networks whose clocks deviate from true time.
//!
//! Sources keep their arrival curves, and servers their service curves, by their own clocks.
//! Between two events that one clock sees d apart, another clock sees at most rho d + eta and at
//! least (d - eta) / rho. If both clocks are synchronised with an error of at most Delta, the other
//! clock sees at most d + 2 Delta and at least d - 2 Delta (Thomas and Le Boudec, "On time
//! synchronization issues in time-sensitive networks with regulators and nonideal clocks",
//! Proceedings of the ACM on Measurement and Analysis of Computing Systems 4, 2020). By a perfect
//! clock, arrivals therefore obey alpha(rho t + eta) and alpha(t + 2 Delta), and the service is at
//! least beta((t - eta) / rho) and beta(t - 2 Delta). Bounds of the network with these curves are
//! in true time.

use super::elements::{Flow, Server};
use super::model::Network;
use super::operations;
use crate::{AlgebraError, Curve, Extended, Rational};

/// Bounds on how far the clocks of a network deviate from true time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clocks {
    /// The largest rate of a clock relative to another, rho. It is 1.0001 for 100 ppm.
    pub stability: Rational,
    /// The largest deviation of a clock within any span of time, in addition to its rate: eta, in
    /// seconds.
    pub jitter: Rational,
    /// The largest error of a synchronised clock, Delta, in seconds, or `None` if clocks are not
    /// synchronised.
    pub error: Option<Rational>,
}

/// The reason why the curves of a network cannot be converted to true time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClocksError {
    /// The stability is below 1.
    #[error("the stability of clocks is a rate of at least 1, such as 1.0001")]
    Stability,
    /// The jitter or the error of the clocks is negative.
    #[error("the jitter and the error of clocks are not negative")]
    Negative,
    /// The network has a regulator. If its clock is slower than that of a source, it delays packets
    /// without bound.
    #[error(
        "server '{0}' has a regulator, whose clock may be slower than that of a source: what it holds back then grows without \
         bound (Thomas and Le Boudec, 2020); use perfect clocks, and arrival curves whose rates include the error of \
         the clocks"
    )]
    Regulator(String),
    /// The algebra cannot compute a curve in true time.
    #[error(transparent)]
    Algebra(#[from] AlgebraError),
}

impl Network {
    /// Returns the network with curves that hold in true time. The curves of this network hold by
    /// clocks that deviate from true time within the bounds of `clocks`.
    ///
    /// # Errors
    ///
    /// Returns a [`ClocksError`] if the bounds are invalid, or the network has no curves in true
    /// time.
    pub fn by_clocks(&self, clocks: &Clocks) -> Result<Self, ClocksError> {
        if clocks.stability < Rational::ONE {
            return Err(ClocksError::Stability);
        }
        if clocks.jitter.is_negative() || clocks.error.as_ref().is_some_and(Rational::is_negative) {
            return Err(ClocksError::Negative);
        }
        let mut servers = Vec::with_capacity(self.servers().len());
        for (_, server) in self.servers() {
            if server.regulator.is_some() {
                return Err(ClocksError::Regulator(server.name.clone()));
            }
            let above = |curve: &Option<Curve>| curve.as_ref().map(|c| clocks.above(c)).transpose();
            servers.push(Server {
                service: clocks.below(&server.service)?,
                maximum_service: above(&server.maximum_service)?,
                shaping: above(&server.shaping)?,
                ..server.clone()
            });
        }
        let flow = |flow: &Flow| -> Result<Flow, ClocksError> {
            Ok(Flow { arrival: clocks.above(&flow.arrival)?, ..flow.clone() })
        };
        let flows: Result<Vec<Flow>, ClocksError> = self.flows().map(|(_, f)| flow(f)).collect();
        let links: Result<Vec<Curve>, ClocksError> =
            self.link_shapes().map(|curve| clocks.above(curve)).collect();
        let in_true_time = self.with_curves(servers, flows?, links?);
        Ok(in_true_time.clocked(self.clone(), clocks.clone()))
    }
}

impl Clocks {
    /// Returns the curve, in true time, of an arrival, shaping or maximum service curve.
    fn above(&self, curve: &Curve) -> Result<Curve, ClocksError> {
        // `by_clocks` has refused rates that are not positive.
        let faster = Rational::ONE / &self.stability;
        let free = operations::advanced(curve, &Extended::Finite(self.jitter.clone()))?;
        let free = free.stretched(&faster).unwrap_or(free);
        let Some(error) = &self.error else { return Ok(free) };
        let twice = Extended::Finite(error * &Rational::from(2));
        Ok(operations::minimum(&free, &operations::advanced(curve, &twice)?)?)
    }

    /// Returns the curve, in true time, of a service curve.
    fn below(&self, curve: &Curve) -> Result<Curve, ClocksError> {
        let slower = curve.stretched(&self.stability).unwrap_or_else(|_| Curve::zero());
        let free = slower.delayed(&self.jitter);
        let Some(error) = &self.error else { return Ok(free) };
        Ok(free.maximum(&curve.delayed(&(error * &Rational::from(2))))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::NetworkBuilder;

    fn network() -> Network {
        let mut builder = NetworkBuilder::new("clocks");
        let service = Curve::rate_latency(10, 2).expect("a curve");
        let server = builder.server(Server::new("s", service));
        let bucket = Curve::token_bucket(7, 4).expect("a curve");
        builder.flow(Flow::new("f", vec![server], bucket));
        builder.build().expect("a network")
    }

    fn curves(network: &Network) -> (Curve, Curve) {
        let (_, flow) = network.flows().next().expect("a flow");
        let (_, server) = network.servers().next().expect("a server");
        (flow.arrival.clone(), server.service.clone())
    }

    #[test]
    fn buckets_and_latencies_are_those_of_the_paper() {
        // (r, b) becomes (rho r, b + r eta); (R, T) becomes (R / rho, rho T + eta).
        let clocks = Clocks { stability: Rational::ratio(5, 4), jitter: 3.into(), error: None };
        let (arrival, service) = curves(&network().by_clocks(&clocks).expect("a network"));
        assert_eq!(arrival, Curve::token_bucket(19, 5).expect("a curve"));
        let latency = Rational::ratio(11, 2);
        assert_eq!(service, Curve::rate_latency(8, latency).expect("a curve"));
        // With synchronised clocks, long-term rates are unchanged: the minimum with (r, b + 2 r
        // Delta).
        let clocks = Clocks { error: Some(2.into()), ..clocks };
        let (arrival, service) = curves(&network().by_clocks(&clocks).expect("a network"));
        assert_eq!(arrival, Curve::token_buckets([(19, 5), (23, 4)]).expect("a curve"));
        assert_eq!(service.ultimate_rate(), Extended::from(Rational::from(10)));
    }

    #[test]
    fn perfect_clocks_change_nothing() {
        let perfect = Clocks { stability: Rational::ONE, jitter: Rational::ZERO, error: None };
        assert_eq!(curves(&network().by_clocks(&perfect).expect("a network")), curves(&network()));
        let wrong = Clocks { stability: Rational::ratio(1, 2), ..perfect.clone() };
        assert_eq!(network().by_clocks(&wrong).expect_err("slow"), ClocksError::Stability);
        let wrong = Clocks { jitter: Rational::from(-1), ..perfect };
        assert_eq!(network().by_clocks(&wrong).expect_err("negative"), ClocksError::Negative);
    }
}
