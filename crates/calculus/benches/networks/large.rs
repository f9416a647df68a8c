//! A single analysis of all flows of large networks, with progress, time and memory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use calculus::network::{Analyser, Analysis, FlowId, Multiplexing, Network, Settings};

use crate::processor_time;

/// The seed of all networks.
const SEED: u64 = 5;

/// Bounds networks with the given numbers of servers (default 1,000 and 10,000) by the analyses
/// that scale, under arbitrary multiplexing. Words that are numbers are sizes; words that are names
/// select other analyses than TFA, SFA and PMOO.
pub(crate) fn bound(words: impl Iterator<Item = String>, network: fn(usize, u64) -> Network) {
    let words: Vec<String> = words.collect();
    let sizes: Vec<usize> = words.iter().filter_map(|size| size.parse().ok()).collect();
    let named = |analysis: &Analysis| words.iter().any(|word| word == analysis.name());
    let mut analyses: Vec<Analysis> = Analysis::ALL.into_iter().filter(named).collect();
    if analyses.is_empty() {
        analyses = vec![Analysis::Tfa, Analysis::Sfa, Analysis::Pmoo];
    }
    for servers in if sizes.is_empty() { vec![1_000, 10_000] } else { sizes } {
        let network = network(servers, SEED);
        let hops: usize = network.flows().map(|(_, flow)| flow.path.len()).sum();
        let most = network.servers().map(|(id, _)| network.flows_at(id).len()).max().unwrap_or(0);
        let all = network.flows().len();
        println!(
            "-- {} servers, {all} flows, {hops} hops, {most} flows at one server at most; {} MB",
            network.servers().len(),
            peak_megabytes(),
        );
        let flows: Vec<FlowId> = network.flows().map(|(id, _)| id).collect();
        for analysis in analyses.clone() {
            let settings = Settings::default().multiplexed(Multiplexing::Arbitrary);
            let analyser = Analyser::new(&network, settings);
            let (begin, processor) = (Instant::now(), processor_time());
            let done = AtomicBool::new(false);
            let found = std::thread::scope(|scope| {
                scope.spawn(|| {
                    let mut said = Instant::now();
                    while !done.load(Ordering::Relaxed) {
                        std::thread::sleep(Duration::from_millis(50));
                        if said.elapsed() >= Duration::from_secs(10) {
                            said = Instant::now();
                            let assessed = analyser.flows_assessed();
                            eprintln!(
                                "{analysis}: {assessed} of {all} flows, {} MB",
                                peak_megabytes()
                            );
                        }
                    }
                });
                let found = analyser.assess(&flows, &[analysis], false);
                done.store(true, Ordering::Relaxed);
                found.expect("bounds")
            });
            let finite = found.iter().flatten().filter(|found| found.bound.delay.is_finite());
            println!(
                "{:<40} {:>10.1?}, processor {:.1?}, {} of {all} flows with a bound, peak memory so far {} MB",
                format!("{} servers, all flows, {analysis}", network.servers().len()),
                begin.elapsed(),
                processor_time().saturating_sub(processor),
                finite.count(),
                peak_megabytes(),
            );
        }
    }
}

/// Returns the peak memory of this process, in MB.
fn peak_megabytes() -> u64 {
    // See proc(5); the value is in kB.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) / 1_000
}
