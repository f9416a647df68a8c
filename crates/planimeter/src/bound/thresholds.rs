//! `planimeter bound --threshold`: conditions on the bounds that every flow, or every server, must
//! meet.

use calculus::network::{Assessed, Load, Network, ServerBound};
use calculus::{Extended, Rational};
use report::bounds::Threshold;
use statistics::{Comparison, Condition, Unit};

use crate::threshold::Metric;

/// The number of bits in a byte.
const BYTE: f64 = 8.0;

/// The metrics that conditions of `--threshold` may name, with their units. The first two belong to
/// flows, the others to servers.
pub(super) const METRICS: [Metric; 4] = [
    ("delay", Unit::Seconds),
    ("backlog", Unit::Bytes),
    ("load", Unit::Fraction),
    ("buffer", Unit::Bytes),
];

/// The value of a metric for one flow or server, with the name of this flow or server.
struct Case {
    of: String,
    /// The value in the unit of the metric, or `None` if it is infinite.
    value: Option<f64>,
}

/// The bounds and loads of a network, against which conditions are checked.
pub(super) struct Figures<'a> {
    pub(super) network: &'a Network,
    pub(super) flows: &'a [Vec<Assessed>],
    pub(super) servers: &'a [ServerBound],
    pub(super) loads: &'a [Load],
}

/// Checks all conditions of `--threshold` against the results, and returns the outcome of each.
pub(super) fn judge(conditions: &[Condition], figures: &Figures<'_>) -> Vec<Threshold> {
    conditions.iter().map(|condition| figures.judge(condition)).collect()
}

impl Figures<'_> {
    fn judge(&self, condition: &Condition) -> Threshold {
        let metric = METRICS.iter().find(|(name, _)| *name == condition.metric());
        let unit = metric.map_or(Unit::Index, |(_, unit)| *unit);
        let cases = self.cases(condition.metric());
        // An infinite bound satisfies only conditions that it must exceed.
        let holds = |case: &Case| condition.holds(case.value.unwrap_or(f64::INFINITY), None);
        let (kept, broken): (Vec<Case>, Vec<Case>) = cases.into_iter().partition(holds);
        let held = broken.is_empty();
        let from_below =
            matches!(condition.comparison(), Comparison::Greater | Comparison::GreaterOrEqual);
        let size = |case: &Case| case.value.unwrap_or(f64::INFINITY);
        let order = |a: &Case, b: &Case| match from_below {
            true => size(b).total_cmp(&size(a)),
            false => size(a).total_cmp(&size(b)),
        };
        let worst = if held { kept } else { broken }.into_iter().max_by(order);
        let (value, of) = match worst {
            Some(case) => (case.value, case.of),
            None => (Some(0.0), "nothing".to_owned()),
        };
        Threshold { condition: condition.to_string(), unit, value, of, held }
    }

    /// Returns the value of a metric for each flow or for each server, depending on the metric, in
    /// the order of the network.
    fn cases(&self, metric: &str) -> Vec<Case> {
        let data = |bits: &Extended| bits.finite().map(|bits| bits.to_f64_up() / BYTE);
        let of_flows = |value: &dyn Fn(&[Assessed]) -> Option<f64>| -> Vec<Case> {
            let case = |row: &Vec<Assessed>| {
                let flow = self.network.flow(row.first()?.bound.flow);
                Some(Case { of: format!("flow '{}'", flow.name), value: value(row) })
            };
            self.flows.iter().filter_map(case).collect()
        };
        let server = |id| format!("server '{}'", self.network.server(id).name);
        match metric {
            "delay" => of_flows(&|row| {
                let least = row.iter().map(|assessed| &assessed.bound.delay).min()?;
                least.finite().map(Rational::to_f64_up)
            }),
            "backlog" => {
                of_flows(&|row| data(row.iter().map(|assessed| &assessed.bound.backlog).min()?))
            }
            "load" => {
                let case = |load: &Load| Case {
                    of: server(load.server),
                    value: Some(load.ratio()).filter(|ratio| ratio.is_finite()),
                };
                self.loads.iter().map(case).collect()
            }
            _ => {
                let case = |bound: &ServerBound| Case {
                    of: server(bound.server),
                    value: data(&bound.backlog),
                };
                self.servers.iter().map(case).collect()
            }
        }
    }
}
