//! Builders of small networks.

use calculus::network::{
    Analyser, Analysis, Flow, FlowBound, Multiplexing, Network, NetworkBuilder, Server, Settings,
};
use calculus::{Curve, Extended, Rational};

/// Parses a number such as `277/7`, `0.67` or `inf`.
pub(crate) fn number(text: &str) -> Extended {
    if text == "inf" {
        return Extended::PositiveInfinity;
    }
    Extended::Finite(rational(text))
}

pub(crate) fn rational(text: &str) -> Rational {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Builds a token bucket from burst and rate.
pub(crate) fn tb(burst: &str, rate: &str) -> Curve {
    Curve::token_bucket(rational(burst), rational(rate)).expect("a token bucket")
}

/// Builds a rate-latency curve from rate and latency.
pub(crate) fn rl(rate: &str, latency: &str) -> Curve {
    Curve::rate_latency(rational(rate), rational(latency)).expect("a rate-latency curve")
}

/// Builds a network from the curves of servers, and the curves and paths of flows.
pub(crate) fn network(servers: &[Curve], flows: &[(Curve, &[usize])]) -> Network {
    let mut builder = NetworkBuilder::new("test");
    let ids: Vec<_> = servers
        .iter()
        .enumerate()
        .map(|(index, curve)| builder.server(Server::new(format!("s{index}"), curve.clone())))
        .collect();
    for (index, (curve, path)) in flows.iter().enumerate() {
        let path = path.iter().map(|server| ids[*server]).collect();
        builder.flow(Flow::new(format!("f{index}"), path, curve.clone()));
    }
    builder.build().expect("a network")
}

/// Returns the bound of one analysis for one flow under DNC's conventions.
pub(crate) fn bound(
    network: &Network,
    flow: &str,
    analysis: Analysis,
    multiplexing: Multiplexing,
) -> FlowBound {
    let settings = Settings::default().multiplexed(multiplexing);
    bound_by(network, flow, analysis, settings)
}

pub(crate) fn bound_by(
    network: &Network,
    flow: &str,
    analysis: Analysis,
    settings: Settings,
) -> FlowBound {
    let flow = network.flow_named(flow).expect("a flow of that name");
    Analyser::new(network, settings).bound(flow, analysis).expect("a bound")
}
