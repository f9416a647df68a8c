//! Measures a switch under load: the share of packets that it loses at two thirds of its loss-free
//! rate, and the delays of packets that conform to a token bucket, which are compared with the
//! bound that follows from its service curve.

use ::device::campaign::{CellId, FunctionName};
use ::device::compose::Semantics;
use ::device::{Campaign, Level, Model, Percentile, SettingModel};
use calculus::{Curve, Rational};
use report::page::Figure;
use report::plot::{Axis, Line, Origin, Plot};
use report::value::Value;
use statistics::{Confidence, Ordered, Unit, proportion};

use super::super::section::Measured;
use super::rounds;
use super::veth::Switch;
use crate::environment::{Environment, SEED};
use crate::failure::Failure;

/// The functions that the switch performs for packets that conform to the token bucket.
const FUNCTIONS: [&str; 2] = ["five-tuple", "set-nw-src"];
/// The length of each packet in bits.
const PACKET_BITS: f64 = 64.0 * 8.0;
/// The burst of the token bucket to which packets conform, in packets. Packets that are due after a
/// stall of the generator are sent at least half of the mean interval apart, and their time stamps
/// are at most one such interval late.
const BURST: f64 = 3.0;
/// The share of packets whose delay the service curve covers.
const LEVEL: f64 = 0.99;
const LOSS: &str = "loss.at-two-thirds";
const BEYOND: &str = "beyond-bound.over-admitted";

/// The measurements without load, and the model from which the service curve is derived.
pub(super) struct Subject<'s> {
    pub(super) campaign: &'s Campaign,
    pub(super) model: &'s Model,
    pub(super) under: &'s SettingModel,
}

/// The bound on the delays of packets that conform to the token bucket.
struct Bound {
    service: Curve,
    bucket: Curve,
    /// The bound on the delay in microseconds.
    delay: f64,
    /// The share of packets that may exceed the bound.
    admitted: f64,
}

/// The number of packets in one round that an event affected, such as a loss, and the number of all
/// packets.
#[derive(Clone, Copy)]
struct Share {
    events: u64,
    trials: u64,
}

impl Share {
    /// Returns the share of affected packets in each round, or nothing if a round has no packets.
    /// If no packet was affected in any round, returns the upper 99 % confidence limit of the share
    /// over all rounds, once for each round. Shares of 0 would have no spread, although a small
    /// number of packets does not exclude a considerable share.
    fn of_rounds(rounds: &[Self]) -> Vec<f64> {
        if rounds.iter().any(|round| round.trials == 0) {
            return Vec::new();
        }
        let sum = |of: fn(&Self) -> u64| rounds.iter().map(of).sum::<u64>();
        if sum(|round| round.events) == 0 {
            let limit = proportion(0, sum(|round| round.trials), Confidence::P99);
            return limit.map_or_else(Vec::new, |limit| vec![limit.high; rounds.len()]);
        }
        rounds.iter().map(|round| round.events as f64 / round.trials as f64).collect()
    }
}

/// Records the reason why nothing was measured under load.
pub(super) fn inconclusive(measured: &mut Measured, switch: &Switch, reason: &str) {
    for key in [LOSS, BEYOND] {
        measured.inconclusive(switch.figures.system, key, reason);
    }
}

/// Measures the switch under load and adds the figures by which claims are judged.
pub(super) fn put(
    measured: &mut Measured,
    environment: &Environment<'_>,
    switch: &Switch,
    subject: &Subject<'_>,
) -> Result<(), Failure> {
    let description = &subject.campaign.description;
    let baseline = description.ids().find(|id| description.cell(*id).functions.is_empty());
    let rate = baseline.and_then(|id| subject.campaign.loss_free_rate(id));
    let Some(rate) = rate.map(|bits| bits as f64 / PACKET_BITS).filter(|rate| *rate > 10.0) else {
        let reason = format!("{} lost packets at every rate that was tried", switch.name);
        inconclusive(measured, switch, &reason);
        return Ok(());
    };
    let load = Load::below(rate);
    let folder = format!("{}-load", switch.folder);
    let campaign = environment.campaign(&folder, &load.plan(switch, environment.quick))?;
    let rounds = rounds(environment.quick);
    let cell = |functions: &[&str], packets_per_second: f64| {
        let is = |id: &CellId| {
            let cell = campaign.description.cell(*id);
            let own = cell.functions.iter().map(FunctionName::as_str);
            let at = format!("{packets_per_second} packets/s");
            own.eq(functions.iter().copied()) && cell.setting.conditions.get("load") == Some(&at)
        };
        campaign.description.ids().find(is).ok_or_else(|| Failure::run("a load was not measured"))
    };
    let lossy = cell(&[], load.two_thirds)?;
    let each = |of: &dyn Fn(&Campaign) -> Share| -> Vec<f64> {
        let shares = (0..rounds).map(|round| of(&campaign.round(round, rounds)));
        Share::of_rounds(&shares.collect::<Vec<_>>())
    };
    let lost = each(&|round| {
        let counts = round.counts(lossy);
        Share { events: counts.lost, trials: counts.sent }
    });
    measured.rounds(switch.figures.system, LOSS, lost);
    let bounded = cell(&FUNCTIONS, load.one_third)?;
    let bound = match bound(subject, &load)? {
        Some(bound) => bound,
        None => {
            measured.inconclusive(
                switch.figures.system,
                BEYOND,
                "the service curve bounds no delay",
            );
            return Ok(());
        }
    };
    let beyond = each(&|round| {
        let delays = round.delays(bounded);
        let over = delays.iter().filter(|delay| delay.0 as f64 / 1e6 > bound.delay).count();
        Share { events: over as u64, trials: delays.len() as u64 }
    });
    let beyond = beyond.into_iter().map(|share| share / bound.admitted).collect();
    measured.rounds(switch.figures.system, BEYOND, beyond);
    measured.remarks.push(format!(
        "{} loses no packet up to {}. Packets for {} at a third of that keep a token bucket of three packets and two thirds of that rate. The service curve composed of the functions' p99 \
         bounds their delay by {}, which {} may exceed. If nothing was lost or late, the claim is judged by the 99 % limit.",
        switch.name,
        Value::new(rate, Unit::PerSecond).words(),
        FUNCTIONS.join(" and "),
        Value::new(bound.delay / 1e6, Unit::Seconds).words(),
        Value::new(bound.admitted, Unit::Fraction).words(),
    ));
    let chart = chart(switch, &bound, &Ordered::of(campaign.delays(bounded)));
    let exhibit = if switch.figures.of_hardware { "device-fig-7" } else { "device-fig-5" };
    measured.figures.push((exhibit.to_owned(), "bound".to_owned(), chart));
    Ok(())
}

/// The loads at which packets are offered, in packets per second.
struct Load {
    two_thirds: f64,
    one_third: f64,
}

impl Load {
    fn below(rate: f64) -> Self {
        Self { two_thirds: (rate * 2.0 / 3.0).round(), one_third: (rate / 3.0).round() }
    }

    fn plan(&self, switch: &Switch, quick: bool) -> String {
        let [matched, action] = FUNCTIONS;
        let (seconds, most) = if quick { (0.5, 10_000.0) } else { (2.0, 100_000.0) };
        let packets = (self.one_third * seconds).clamp(500.0, most) as u32;
        format!(
            "[device]\n{}\n\n[functions]\nmatches = [\"port\", \"{matched}\"]\nactions = [\"output\", \"{action}\"]\n\n\
             [settings]\npacket-bytes = [64]\nrules = [1]\npackets-per-second = [{}, {}]\n\n[campaign]\nrepetitions = {}\n\
             packets = {packets}\nwarm-up = 100\nseed = {SEED}\n",
            switch.device,
            self.two_thirds,
            self.one_third,
            rounds(quick)
        )
    }
}

/// Returns the bound that follows from the service curve of the measured functions. Returns `None`
/// if there is no curve with a rate, or the curve bounds no delay.
fn bound(subject: &Subject<'_>, load: &Load) -> Result<Option<Bound>, Failure> {
    let Subject { model, under, .. } = subject;
    let names = FUNCTIONS.map(FunctionName::new);
    let composition = model.compose(under, &names).map_err(Failure::run)?;
    let level = Percentile::of_share(LEVEL).map(Level::Percentile);
    let curves = model.curves(under, &composition).map_err(Failure::run)?;
    let is = |level_of: Level| Some(level_of) == level;
    let service = curves
        .minimum
        .into_iter()
        .find(|one| is(one.level) && one.semantics == Some(Semantics::Pipelined));
    let predicted = composition.levels.iter().find(|one| is(one.level));
    let (Some(service), Some(predicted)) = (service, predicted) else { return Ok(None) };
    // The rate in bits per microsecond is exact, because the number of packets per second is an
    // integer.
    let rate = Rational::ratio((2.0 * load.one_third * PACKET_BITS) as i64, 1_000_000);
    let burst = Rational::from((BURST * PACKET_BITS) as i64);
    let bucket = Curve::token_bucket(burst, rate).map_err(Failure::run)?;
    let delay = bucket.horizontal_deviation(&service.curve).map_err(Failure::run)?;
    let Some(delay) = delay.value.finite() else { return Ok(None) };
    let admitted = predicted.beyond.unwrap_or(1.0 - LEVEL);
    Ok(Some(Bound { delay: delay.to_f64_up(), service: service.curve, bucket, admitted }))
}

/// Returns a chart of the arrival curve, the service curve and the measured delays. The delays are
/// drawn at the height of the burst, where the horizontal distance between the two curves is the
/// bound.
fn chart(
    switch: &Switch,
    bound: &Bound,
    delays: &Ordered<::device::campaign::Picoseconds>,
) -> Figure {
    const POINTS: i64 = 60;
    let end = bound.delay * 1.5;
    let bits = |value: f64| Value::new(value, Unit::Count);
    let along = |curve: &Curve| -> Vec<(f64, Value)> {
        let at = |step: i64| {
            let time = end * step as f64 / POINTS as f64;
            let exact = Rational::ratio((time * 1e6) as i64, 1_000_000);
            (time / 1e6, bits(curve.value_at(&exact).to_f64()))
        };
        (1..=POINTS).map(at).collect()
    };
    let quantiles = [0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999];
    let delay = |share: f64| Some((delays.at(share)?.0 as f64 / 1e12, bits(BURST * PACKET_BITS)));
    let measured: Vec<(f64, Value)> =
        quantiles.into_iter().filter_map(delay).filter(|(time, _)| *time <= end / 1e6).collect();
    let lines = vec![
        Line::of_values("token bucket", Origin::Computed, along(&bound.bucket)),
        Line::of_values("service curve", Origin::Computed, along(&bound.service)),
        Line::of_values(
            "bound of the delay",
            Origin::Computed,
            [0.0, bound.delay / 1e6].map(|time| (time, bits(BURST * PACKET_BITS))),
        ),
        Line::of_values("delays: 0, 25, 50, 75, 90, 95, 99, 99.9 %", Origin::Measured, measured),
    ];
    let title = format!("{}: service curve, bound and delays", switch.name);
    let plot = Plot::of_values(
        title,
        Axis::linear("time", Unit::Seconds),
        Axis::linear("bits", Unit::Count),
        lines,
    );
    Figure::plot(
        plot,
        "Delays stand at the height of a burst; those beyond the chart are left out.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_packets_without_a_loss_do_not_show_that_none_is_lost() {
        let round = |events, trials| Share { events, trials };
        // 1 - 0.005^(1/n) of n packets.
        let few = Share::of_rounds(&[round(0, 500); 3]);
        assert_eq!(few.len(), 3);
        assert!(few.iter().all(|share| (share - 0.003_526).abs() < 1e-5), "{few:?}");
        let many = Share::of_rounds(&[round(0, 20_000); 3]);
        assert!(many.iter().all(|share| *share < 1e-4), "{many:?}");
        assert_eq!(Share::of_rounds(&[round(1, 4), round(0, 4)]), [0.25, 0.0]);
        assert!(Share::of_rounds(&[round(0, 0), round(0, 4)]).is_empty());
    }
}
