//! Tests of the help and the flags of `planimeter bound`.

use super::Arguments;
use calculus::network::{
    Analysis, ArrivalBound, FlowOfInterest, Format, Multiplexing, Network, format,
};
use clap::{CommandFactory, Parser};

#[test]
fn short_help() {
    insta::assert_snapshot!(Arguments::command().render_help());
}

#[test]
fn long_help() {
    insta::assert_snapshot!(Arguments::command().render_long_help());
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
    let given = |words: &[&str]| Arguments::try_parse_from(words).expect("arguments");
    let large = large();
    let some = given(&arguments);
    assert_eq!(some.analyses(&large), [Analysis::Sfa, Analysis::Tfa]);
    let settings = some.settings();
    assert_eq!(settings.multiplexing, Some(Multiplexing::Fifo));
    assert_eq!(settings.flow_of_interest, FlowOfInterest::Interferes);
    let methods = [ArrivalBound::SegregatedPmoo, ArrivalBound::AggregatePboo];
    assert_eq!(settings.arrival_bounds, methods);
    assert_eq!(settings.threads, 3);
    let all = given(&["bound", "net.toml", "-a", "all"]).analyses(&large);
    let of_all = |analysis: &Analysis| *analysis != Analysis::Quick;
    assert_eq!(all, Analysis::ALL.into_iter().filter(of_all).collect::<Vec<_>>());
    assert_eq!(given(&["bound", "network.toml"]).analyses(&large), [Analysis::Quick]);
    // With a deadline, the effort goes to the flows that exceed it, however large the network is.
    let deadline = given(&["bound", "network.toml", "--deadline", "5ms"]);
    assert_eq!(deadline.analyses(&large), [Analysis::Best]);
}

/// Returns a network of 2,001 flows through one server. It is so large that `quick` is its default
/// analysis.
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

#[test]
fn the_help_and_the_manual_describe_every_analysis() {
    let help = Arguments::command().render_long_help().to_string();
    let manual = include_str!("../../../../docs/bound.md");
    for analysis in Analysis::ALL {
        let line = format!("\n  {} ", analysis.name());
        assert!(help.contains(&line), "the help lacks {analysis}");
        let row = format!("\n| `{}` |", analysis.name());
        assert!(manual.contains(&row), "docs/bound.md lacks {analysis}");
    }
}
