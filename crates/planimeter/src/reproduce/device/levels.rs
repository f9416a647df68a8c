//! The quantiles of delays (levels) at which a measurement in memory says something about the
//! pipeline. Beyond a certain quantile, stalls of the host determine the delays.

use ::device::campaign::{Campaign, CellId, Picoseconds};
use ::device::verify::Verification;
use ::device::{Level, Percentile, Settings, Stalls};
use report::page::{Cell, Figure};
use report::plot::{Axis, Line, Origin, Plot};
use report::value::Value;
use statistics::exposure::TailOrigin;
use statistics::{Ordered, Unit};

use super::super::section::Measured;
use crate::environment::{SEED, seconds};

/// The quantiles above the median at which delays are compared, as shares of packets.
const SHARES: [f64; 8] = [0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999];

/// A campaign without the packets that stalls of the host delayed, and the stalls.
pub(super) struct Quiet {
    pub(super) campaign: Campaign,
    /// The stalls of the host, or `None` if the campaign has no control windows to detect them.
    stalls: Option<Stalls>,
}

impl Quiet {
    pub(super) fn of(campaign: Campaign) -> Self {
        let stalls = Stalls::of(&campaign, SEED);
        let campaign = stalls.as_ref().map_or(campaign.clone(), |one| one.without(&campaign));
        Self { campaign, stalls }
    }

    /// Returns whether, in all measured combinations, the pipeline and not the host determines this
    /// quantile of the delays. Returns false if the campaign has no control windows.
    pub(super) fn is_attributed(&self, share: f64) -> bool {
        self.stalls.as_ref().is_some_and(|stalls| stalls.is_attributed(share))
    }

    /// Returns the highest of the compared quantiles up to which the pipeline determines all of
    /// them, or `None` if the host determines even the median.
    pub(super) fn highest_attributed(&self) -> Option<f64> {
        let shares = std::iter::once(0.5).chain(SHARES);
        shares.take_while(|share| self.is_attributed(*share)).last()
    }

    /// Returns the settings for a model with all compared quantiles, the minimum, the mean and the
    /// maximum.
    pub(super) fn settings() -> Settings {
        let mut levels = vec![Level::Minimum, Level::Median, Level::Mean];
        levels.extend(SHARES.into_iter().filter_map(Percentile::of_share).map(Level::Percentile));
        levels.push(Level::Maximum);
        Settings { levels, ..Settings::default() }
    }

    /// Returns sentences for the report on the packets that were left out, and on the reason.
    pub(super) fn remarks(&self) -> Vec<String> {
        let Some(stalls) = &self.stalls else { return Vec::new() };
        let count = |origin: TailOrigin| {
            stalls.cells().iter().filter(|cell| cell.tail.origin == origin).count()
        };
        let kept = stalls.cells().iter().map(|cell| cell.kept);
        let kept = statistics::mean(&kept.collect::<Vec<_>>()).unwrap_or(0.0);
        let sum = |which: &dyn Fn(&::device::CellStalls) -> u64| {
            stalls.cells().iter().map(which).sum::<u64>()
        };
        let marks = self.campaign.description.host.get("interrupts marked");
        let marks = match marks.map(String::as_str) {
            Some("yes") => "Interrupts are marked by the processor.".to_owned(),
            _ => "Interrupts: marks not available; only slow control windows show them.".to_owned(),
        };
        let highest =
            self.highest_attributed().and_then(Percentile::of_share).map(Level::Percentile);
        let highest = match highest {
            Some(level) => format!("Quantiles are told up to {level}"),
            None => "Not even the median is told".to_owned(),
        };
        vec![
            format!(
                "A control window of fixed arithmetic follows every packet. Packets beside a slow one or with an interrupt are \
                 left out, whatever their delay: {} are kept. {marks}",
                Value::new(kept, Unit::Fraction).words()
            ),
            format!(
                "Late packets (by more than the median): {}, late controls: {}. By their frequency per exposed second the tail is \
                 the host's in {} cells, the program's own in {}, where it stays, and not told in {}. {highest}; beyond it the \
                 host decides, and there is no error.",
                sum(&|cell| cell.tail.late_packets),
                sum(&|cell| cell.tail.late_controls),
                count(TailOrigin::Host),
                count(TailOrigin::Function),
                count(TailOrigin::Undecided),
            ),
        ]
    }

    /// Compares the spread of the delays of each measured combination with that of the baseline,
    /// and returns the ratio that differs most from 1. The spread is the difference between the
    /// quantile `share` and the smallest delay. Returns `None` if a spread is missing or zero.
    pub(super) fn farthest_spread(campaign: &Campaign, share: f64) -> Option<f64> {
        let spread = |cell: CellId| {
            let delays = Ordered::of(campaign.delays(cell));
            Some((delays.at(share)?.0 - delays.first()?.0) as f64)
        };
        let description = &campaign.description;
        let is_baseline = |id: &CellId| description.cell(*id).functions.is_empty();
        let baseline = spread(description.ids().find(is_baseline)?)?;
        let ratios = description.ids().filter(|id| !is_baseline(id)).map(|id| {
            let ratio = spread(id)? / baseline;
            (ratio.is_finite() && ratio > 0.0).then_some(ratio)
        });
        let ratios: Vec<f64> = ratios.collect::<Option<_>>()?;
        ratios.into_iter().max_by(|one, other| one.ln().abs().total_cmp(&other.ln().abs()))
    }

    /// Adds to the results of an experiment the worst error at each level, a chart of the errors,
    /// and a chart of the baseline's delays. `exhibits` contains the names of two exhibits of the
    /// paper: the one on costs, and the one on errors.
    pub(super) fn put(
        &self,
        measured: &mut Measured,
        verification: &Verification,
        exhibits: [&str; 2],
    ) {
        let [costs, errors] = exhibits;
        for level in verification.levels.iter().filter(|one| one.level != Level::Maximum) {
            let is_attributed =
                level.level.share().is_none_or(|share| share == 0.0 || self.is_attributed(share));
            let cell = match is_attributed {
                true => Value::new(level.worst_absolute, Unit::Fraction).into(),
                false => Cell::text("not told: stalls of the host decide"),
            };
            measured.values.insert(format!("worst.{}", level.level), cell);
        }
        let errors_chart = self.errors(verification);
        measured.figures.push((errors.to_owned(), "errors".to_owned(), errors_chart));
        if let Some(chart) = self.baseline() {
            measured.figures.push((costs.to_owned(), "baseline".to_owned(), chart));
        }
    }

    fn errors(&self, verification: &Verification) -> Figure {
        let levels = verification.levels.iter().filter_map(|level| {
            let share = level.level.share().filter(|share| *share > 0.0 && *share < 1.0)?;
            Some((share, Value::new(level.worst_absolute, Unit::Fraction)))
        });
        let attributed = levels.filter(|(share, _)| self.is_attributed(*share));
        let own = attributed.map(|(share, value)| (place(share), value));
        let bound = Value::new(0.01, Unit::Fraction);
        let published = [0.5, SHARES[SHARES.len() - 1]].map(|share| (place(share), bound));
        let lines = vec![
            Line::of_values("worst of 30 combinations", Origin::Measured, own),
            Line::of_values("always below", Origin::Published, published),
        ];
        let y = Axis::logarithmic("worst absolute relative error", Unit::Fraction);
        let plot =
            Plot::of_values("Errors of predictions by level", Axis::quantile("level"), y, lines);
        Figure::plot(plot, "Levels that stalls of the host decide have no error.")
    }

    /// Returns a chart of the quantiles of the baseline's delay. Those that the host determines are
    /// grey.
    fn baseline(&self) -> Option<Figure> {
        let description = &self.campaign.description;
        let baseline = description.ids().find(|id| description.cell(*id).functions.is_empty())?;
        let delays: Ordered<Picoseconds> = Ordered::of(self.campaign.delays(baseline));
        let quantile = |share: f64| Some((share, seconds(delays.tail_at(share)?)));
        let quantiles = std::iter::once(0.5).chain(SHARES).filter_map(quantile);
        let (attributed, decided_by_host): (Vec<_>, Vec<_>) =
            quantiles.partition(|(share, _)| self.is_attributed(*share));
        let points = |of: Vec<(f64, Value)>| of.into_iter().map(|(share, at)| (place(share), at));
        let lines = vec![
            Line::of_values("baseline", Origin::Measured, points(attributed)),
            Line::of_values("decided by the host", Origin::Measured, points(decided_by_host))
                .inconclusive(),
        ];
        let y = Axis::logarithmic("delay", Unit::Seconds);
        let plot = Plot::of_values(
            "Delays of the baseline by quantile",
            Axis::quantile("quantile"),
            y,
            lines,
        );
        Some(Figure::plot(plot, "Grey: stalls of the host decide."))
    }
}

/// Returns the position of a quantile on an axis of quantiles.
fn place(share: f64) -> f64 {
    1.0 / (1.0 - share)
}
