//! Bounds compared with published bounds of panco's PLP.

use std::time::Instant;

use calculus::Rational;
use calculus::network::{Analyser, Analysis, Multiplexing, Settings};

use crate::topologies;

/// Prints both bounds for each network, with the difference.
pub(crate) fn bound() {
    println!("{:<28} {:>12} {:>12} {:>10} {:>10}", "first flow", "published", "plp", "", "time");
    for topologies::Published { name, network, delay } in topologies::all() {
        let settings = Settings::default().multiplexed(Multiplexing::Fifo);
        let analyser = Analyser::new(&network, settings);
        let flow = network.flow_named("f0").expect("a flow");
        let begin = Instant::now();
        let found = analyser.bound(flow, Analysis::Plp).expect("a bound").delay;
        let found = found.into_finite().expect("a finite one") * Rational::from(1_000_000);
        let found = found.to_f64_up();
        println!(
            "{name:<28} {:>9.2} us {found:>9.3} us {:>+8.2} % {:>10.2?}",
            delay.to_f64(),
            100.0 * (found / delay.to_f64() - 1.0),
            begin.elapsed(),
        );
    }
}
