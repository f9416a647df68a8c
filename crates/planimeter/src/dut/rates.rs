//! Rates in reports, and the side that limited them.

use ::dut::updates::Limit;
use report::value::Value;
use statistics::{Estimate, Unit};

/// Returns the mean of the rates of several rounds, with its interval. Returns `None` without
/// rounds.
pub(super) fn rate(rates: &[f64]) -> Option<Value> {
    Estimate::of(rates).map(|rate| Value::told(&rate, Unit::PerSecond))
}

/// Returns the side that limited a rate, in words.
pub(super) fn limit_words(limit: Limit) -> &'static str {
    match limit {
        Limit::Planimeter => "Planimeter",
        Limit::Latency => "latency",
        Limit::Switch => "switch",
        Limit::Network => "network",
        Limit::SwitchOrNetwork => "switch or network",
    }
}
