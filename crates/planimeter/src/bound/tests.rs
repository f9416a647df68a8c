//! What the command line says and understands.

use super::{arguments, command};
use calculus::network::{Analysis, ArrivalBound, FlowOfInterest, Multiplexing};

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
    assert_eq!(arguments::analyses(&matches), [Analysis::Sfa, Analysis::Tfa]);
    let settings = arguments::settings(&matches);
    assert_eq!(settings.multiplexing, Some(Multiplexing::Fifo));
    assert_eq!(settings.flow_of_interest, FlowOfInterest::Interferes);
    let methods = [ArrivalBound::SegregatedPmoo, ArrivalBound::AggregatePboo];
    assert_eq!(settings.arrival_bounds, methods);
    assert_eq!(settings.threads, 3);
    let all = command().try_get_matches_from(["bound", "net.toml", "-a", "all"]);
    assert_eq!(arguments::analyses(&all.expect("arguments")), Analysis::ALL);
}
