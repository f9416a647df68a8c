//! Fuzzes the readers of networks in every format. Small networks are bounded and simulated, and no
//! run may exceed its bound.

use crate::text;
use calculus::network::{Analyser, Analysis, Format, Settings, format, simulate};

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for format in [Format::Toml, Format::Json, Format::Xml] {
        let network = match format::read(text, format) {
            Ok(network) => network,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                continue;
            }
        };
        // Analyses of large networks may take long.
        if network.servers().len() > 3 || network.flows().len() > 3 {
            continue;
        }
        let settings = Settings::default();
        let analyser = Analyser::new(&network, settings.clone());
        for (flow, _) in network.flows() {
            let bound = analyser.bound(flow, Analysis::Sfa);
            if let (Ok(bound), Some(run)) = (bound, simulate(&network, flow, &settings)) {
                assert!(calculus::Extended::from(run.delay) <= bound.delay, "{text}");
            }
        }
    }
}

/// Mutates an input, as [`crate::bytes::mutate`] does.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    text::mutate(data, size, max_size, seed)
}
