//! Small networks in few words.

use calculus::network::{
    Analyser, Analysis, Flow, FlowBound, Multiplexing, Network, NetworkBuilder, Server, Settings,
};
use calculus::{Curve, Extended, Rational};

/// A number as people write it: `277/7`, `0.67`, `inf`.
pub(crate) fn number(text: &str) -> Extended {
    if text == "inf" {
        return Extended::PositiveInfinity;
    }
    Extended::Finite(rational(text))
}

pub(crate) fn rational(text: &str) -> Rational {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// A token bucket, burst and rate.
pub(crate) fn tb(burst: &str, rate: &str) -> Curve {
    Curve::token_bucket(rational(burst), rational(rate)).expect("a token bucket")
}

/// A rate-latency curve, rate and latency.
pub(crate) fn rl(rate: &str, latency: &str) -> Curve {
    Curve::rate_latency(rational(rate), rational(latency)).expect("a rate-latency curve")
}

/// Servers by their curves, flows by their curves and paths.
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

/// One analysis of one flow under DNC's conventions.
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
