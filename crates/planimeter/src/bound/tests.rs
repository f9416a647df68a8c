//! What the command line says and understands.

use super::{arguments, command};
use calculus::network::{
    Analysis, ArrivalBound, FlowOfInterest, Format, Multiplexing, Network, format,
};

#[test]
fn short_help() {
    insta::assert_snapshot!(command().render_help());
}

#[test]
fn long_help() {
    insta::assert_snapshot!(command().render_long_help());
}

#[test]
fn flags_become_settings() {
    let arguments = [
        "bound",
        "net.toml",
        "-a",
        "sfa,tfa",
        "-a",
        "sfa",
        "-m",
        "fifo",
        "--flow-of-interest",
        "interferes",
        "--cross-traffic",
        "segregated-pmoo,aggregate-pboo",
        "--threads",
        "3",
    ];
    let matches = command().try_get_matches_from(arguments).expect("arguments");
    assert_eq!(arguments::analyses(&matches, Analysis::Best), [Analysis::Sfa, Analysis::Tfa]);
    let settings = arguments::settings(&matches);
    assert_eq!(settings.multiplexing, Some(Multiplexing::Fifo));
    assert_eq!(settings.flow_of_interest, FlowOfInterest::Interferes);
    let methods = [ArrivalBound::SegregatedPmoo, ArrivalBound::AggregatePboo];
    assert_eq!(settings.arrival_bounds, methods);
    assert_eq!(settings.threads, 3);
    let all = command().try_get_matches_from(["bound", "net.toml", "-a", "all"]);
    let all = arguments::analyses(&all.expect("arguments"), Analysis::Best);
    let of_all = |analysis: &Analysis| *analysis != Analysis::Quick;
    assert_eq!(all, Analysis::ALL.into_iter().filter(of_all).collect::<Vec<_>>());
    let none = command().try_get_matches_from(["bound", "network.toml"]).expect("arguments");
    assert_eq!(arguments::analyses(&none, Analysis::Quick), [Analysis::Quick]);
    // With a deadline the effort goes to the flows that are over it, however large the network is.
    let large = large();
    assert_eq!(arguments::default_analysis(&none, &large), Analysis::Quick);
    let deadline = ["bound", "network.toml", "--deadline", "5ms"];
    let deadline = command().try_get_matches_from(deadline).expect("arguments");
    assert_eq!(arguments::default_analysis(&deadline, &large), Analysis::Best);
}

/// A network of 2,001 hops.
fn large() -> Network {
    let flow = |number| {
        format!(
            "[[flow]]\nname = \"f{number}\"\npath = [\"s\"]\narrival = {{ token-bucket = {{ burst = 1, rate = 0 }} }}\n"
        )
    };
    let server = "[[server]]\nname = \"s\"\nservice = { rate = 1 }\n";
    let text: String = std::iter::once(server.to_owned()).chain((0..2_001).map(flow)).collect();
    format::read(&text, Format::Toml).expect("a network")
}
