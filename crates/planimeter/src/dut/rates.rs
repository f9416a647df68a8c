//! Rates in reports, and what limited them, such as the switch or the network.

use ::dut::updates::Limit;
use report::value::Value;
use statistics::{Estimate, Unit};

/// Returns the mean of the rates of all rounds, with its confidence interval. Returns `None` if
/// there are no rounds.
pub(super) fn rate(rates: &[f64]) -> Option<Value> {
    Estimate::of(rates).map(|rate| Value::told(&rate, Unit::PerSecond))
}

/// Describes what limited a rate, such as the switch.
pub(super) fn limit_words(limit: Limit) -> &'static str {
    match limit {
        Limit::Planimeter => "Planimeter",
        Limit::Latency => "latency",
        Limit::Switch => "switch",
        Limit::Network => "network",
        Limit::SwitchOrNetwork => "switch or network",
    }
}
