//! Scales, which convert values to positions on an axis of a plot, and the ticks of the axis.

use statistics::Unit;

use super::Width;
use super::frame::LETTER;
use crate::format::{figure, scaling, trim_zeros, whole};

/// The way in which values are spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Spacing {
    /// Equal distances represent equal differences.
    Linear,
    /// Equal distances represent equal ratios. Values must be positive. Other values are drawn at
    /// the low end.
    Logarithmic,
    /// Equal distances represent equal ratios, and ticks stand at powers of two.
    Binary,
    /// Quantiles, as plots of HdrHistogram show them. The value is 1 / (1 - quantile) on a
    /// logarithmic scale, so that each further nine (90 %, 99 %, 99.9 %) takes the same space.
    Quantile,
    /// Names that stand side by side. A value is the number of a name, from 1. If the names are too
    /// long, the drawing shows the numbers instead.
    Named,
}

/// An axis of a plot: its label, unit and spacing.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Axis {
    /// The label of the axis, without the unit.
    pub label: String,
    /// The unit of the values along the axis.
    pub unit: Unit,
    /// The way in which values are spread along the axis.
    pub spacing: Spacing,
    /// Whether a linear axis starts at zero, as it should if readers compare the lengths of bars or
    /// areas.
    pub from_zero: bool,
    /// Values at which a line crosses the whole plot, each with the label of its line.
    pub levels: Vec<(f64, String)>,
    /// The labels of the values 1, 2 and so on (empty unless the spacing is [`Spacing::Named`]).
    #[serde(default)]
    pub names: Vec<String>,
}

impl Axis {
    /// Returns a linear axis that starts at zero.
    pub fn linear(label: impl Into<String>, unit: Unit) -> Self {
        let label = label.into();
        let (levels, names) = (Vec::new(), Vec::new());
        Self { label, unit, spacing: Spacing::Linear, from_zero: true, levels, names }
    }

    /// Returns an axis on which these names stand side by side, in their order.
    pub fn named(label: impl Into<String>, names: Vec<String>) -> Self {
        Self { spacing: Spacing::Named, names, ..Self::linear(label, Unit::Index) }
    }

    /// Returns a logarithmic axis.
    pub fn logarithmic(label: impl Into<String>, unit: Unit) -> Self {
        Self { spacing: Spacing::Logarithmic, from_zero: false, ..Self::linear(label, unit) }
    }

    /// Returns a logarithmic axis of counts whose ticks are powers of two.
    pub fn binary(label: impl Into<String>) -> Self {
        Self { spacing: Spacing::Binary, ..Self::logarithmic(label, Unit::Count) }
    }

    /// Returns the axis with lines that cross the plot at these values, each with a label.
    #[must_use]
    pub fn with_levels(self, levels: Vec<(f64, String)>) -> Self {
        Self { levels, ..self }
    }

    /// Formats a value of this axis for the tables of reports.
    pub(crate) fn value(&self, value: f64) -> String {
        match self.spacing {
            Spacing::Binary => power_of_two(value).unwrap_or_else(|| figure(value, self.unit)),
            Spacing::Named => self.called(value).unwrap_or_default().to_owned(),
            _ => figure(value, self.unit),
        }
    }

    /// Returns a value of this axis as data files contain it: the quantile or the name if the axis
    /// has those, otherwise the number.
    pub(crate) fn data(&self, value: f64) -> Datum<'_> {
        match self.spacing {
            Spacing::Quantile => Datum::Number(1.0 - 1.0 / value),
            Spacing::Named => Datum::Name(self.called(value).unwrap_or_default()),
            _ => Datum::Number(value),
        }
    }

    /// Returns a sentence that explains the numbers on an axis of names, as in `1: router; 2:
    /// switch.` Returns an empty text if the names themselves fit on an axis of this length.
    pub(super) fn key(&self, length: Width) -> String {
        if self.spacing != Spacing::Named || fit(&self.names, length) {
            return String::new();
        }
        let named =
            (1..).zip(&self.names).take(KEYS).map(|(number, name)| format!("{number}: {name}"));
        let more =
            if self.names.len() > KEYS { "; and more in the data of the figure" } else { "" };
        format!("{}{more}.", named.collect::<Vec<_>>().join("; "))
    }

    /// Returns the name for which a value stands on an axis of names.
    fn called(&self, value: f64) -> Option<&str> {
        let place = (value.round() as usize).checked_sub(1)?;
        self.names.get(place).map(String::as_str)
    }

    /// Returns the label of the axis, with the unit in which data files contain its values.
    pub(crate) fn name(&self) -> String {
        match (self.spacing, self.unit) {
            (Spacing::Quantile, _) => format!("{} [fraction]", self.label),
            // The label of an index already names what it counts.
            (_, Unit::Index) => self.label.clone(),
            (_, unit) => format!("{} [{}]", self.label, unit.text()),
        }
    }

    /// Returns an axis of quantiles, on which each further nine (90 %, 99 %, 99.9 %) takes the same
    /// space.
    pub fn quantile(label: impl Into<String>) -> Self {
        Self { spacing: Spacing::Quantile, ..Self::logarithmic(label, Unit::Index) }
    }
}

/// The largest number of names in the sentence that explains the numbers on an axis of names.
const KEYS: usize = 12;

/// Returns whether names fit side by side on an axis of this length.
fn fit(names: &[String], length: Width) -> bool {
    let room = length.pixels() / names.len().max(1) as f64;
    names.iter().all(|name| name.chars().count() as f64 * LETTER + 6.0 <= room)
}

/// A value of an axis as a data file contains it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Datum<'a> {
    /// A number in the unit of the axis.
    Number(f64),
    /// A name, for an axis of names.
    Name(&'a str),
}

/// An axis fitted to the values of a plot: its ends and ticks.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    spacing: Spacing,
    unit: Unit,
    label: String,
    low: f64,
    high: f64,
    /// The unit after the label of each tick (empty if ticks have different units).
    suffix: &'static str,
    ticks: Vec<Tick>,
}

/// A tick of an axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    /// The value on the axis at which the tick stands.
    pub(crate) value: f64,
    /// The label of the tick (empty for ticks between labelled ones).
    pub(crate) label: String,
}

impl Scale {
    /// Fits an axis to the values that a plot shows, with about `wanted` labelled ticks.
    pub(crate) fn fit(axis: &Axis, values: impl Iterator<Item = f64>, wanted: usize) -> Self {
        Self::fit_in(axis, values, wanted, Width::PAGE)
    }

    /// Fits an axis to the values that a plot shows, with about `wanted` labelled ticks. An axis of
    /// names shows numbers instead if the names do not fit side by side in `length`.
    pub(super) fn fit_in(
        axis: &Axis,
        values: impl Iterator<Item = f64>,
        wanted: usize,
        length: Width,
    ) -> Self {
        let positive = !matches!(axis.spacing, Spacing::Linear | Spacing::Named);
        let usable = values.filter(|v| v.is_finite() && (!positive || *v > 0.0));
        let (mut low, mut high) = usable
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        if low > high {
            (low, high) = if positive { (1.0, 10.0) } else { (0.0, 1.0) };
        }
        let mut scale = Self {
            spacing: axis.spacing,
            unit: axis.unit,
            label: axis.label.clone(),
            low,
            high,
            suffix: "",
            ticks: Vec::new(),
        };
        match axis.spacing {
            Spacing::Linear => scale.fit_linear(axis.from_zero, wanted),
            Spacing::Logarithmic => scale.fit_logarithmic(wanted),
            Spacing::Binary => scale.fit_binary(wanted),
            Spacing::Quantile => scale.fit_quantile(),
            Spacing::Named => scale.fit_names(&axis.names, length),
        }
        scale
    }

    /// Returns the position of a value on the axis, from 0 (low end) to 1 (high end). Values beyond
    /// an end are placed at that end.
    pub(crate) fn position(&self, value: f64) -> f64 {
        let position = match self.spacing {
            Spacing::Linear | Spacing::Named => (value - self.low) / (self.high - self.low),
            Spacing::Logarithmic | Spacing::Binary | Spacing::Quantile => {
                (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
            }
        };
        position.clamp(0.0, 1.0)
    }

    /// Returns whether a value lies between the ends of the axis, to within a rounding error.
    pub(super) fn holds(&self, value: f64) -> bool {
        let slack = 1e-9 * (self.high - self.low).abs();
        (self.low - slack..=self.high + slack).contains(&value)
    }

    /// Returns the ticks of the axis in ascending order.
    pub(crate) fn ticks(&self) -> &[Tick] {
        &self.ticks
    }

    /// Returns the unit of the values along the axis.
    pub(crate) fn unit(&self) -> Unit {
        self.unit
    }

    /// Returns the label of the axis, with the unit if all ticks share it.
    pub(crate) fn label(&self) -> String {
        if self.suffix.is_empty() {
            self.label.clone()
        } else {
            format!("{} ({})", self.label, self.suffix)
        }
    }

    fn fit_linear(&mut self, from_zero: bool, wanted: usize) {
        if from_zero {
            self.low = self.low.min(0.0);
            self.high = self.high.max(0.0);
        }
        // Ticks must be round in the unit shown, which for bytes and shares differs from the unit
        // of the data.
        let per_unit = match self.unit {
            Unit::Bytes | Unit::Seconds | Unit::Fraction => {
                let scale = scaling(self.unit, self.high.abs().max(self.low.abs()));
                self.suffix = scale.suffix;
                scale.divisor
            }
            unit => {
                self.suffix = plain_suffix(unit);
                1.0
            }
        };
        let (low, high) = (self.low / per_unit, self.high / per_unit);
        let (low, high) = if high > low {
            (low, high)
        } else if low == 0.0 {
            (0.0, 1.0)
        } else {
            (low - low.abs() * 0.5, high + high.abs() * 0.5)
        };
        let mut step = round_step((high - low) / wanted.max(2) as f64);
        if matches!(self.unit, Unit::Count) {
            step = step.max(1.0);
        }
        let (first, last) = ((low / step).floor(), (high / step - 1e-9).ceil());
        self.low = first * step * per_unit;
        self.high = last * step * per_unit;
        let count = (last - first).clamp(1.0, 100.0) as usize;
        let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
        let largest = (first * step).abs().max((last * step).abs());
        self.ticks = (0..=count)
            .map(|i| (first + i as f64) * step)
            .map(|value| Tick {
                value: value * per_unit,
                label: self.linear_label(value, decimals, largest),
            })
            .collect();
    }

    /// Formats the label of a tick on a linear axis. `largest` is the largest value of the axis. It
    /// decides whether all labels are abbreviated to thousands or millions, or none.
    fn linear_label(&self, value: f64, decimals: usize, largest: f64) -> String {
        let value = if value == 0.0 { 0.0 } else { value };
        if matches!(self.unit, Unit::Count | Unit::PerSecond) && largest >= 10_000.0 && value != 0.0
        {
            let (divisor, suffix) = if largest >= 1e7 { (1e6, "M") } else { (1e3, "k") };
            let text = format!("{:.3}", value / divisor);
            return format!("{} {suffix}", trim_zeros(&text));
        }
        if decimals == 0 {
            let sign = if value < 0.0 { "-" } else { "" };
            format!("{sign}{}", whole(value.abs().round() as u64))
        } else {
            format!("{value:.decimals$}")
        }
    }

    fn fit_logarithmic(&mut self, wanted: usize) {
        // Ticks of times and bytes span several units, so each label has its unit.
        self.suffix = plain_suffix(self.unit);
        // The ends are rounded outwards to 1, 2 or 5 times a power of ten.
        self.low = round_down_125(self.low);
        self.high = round_up_125(self.high);
        if self.high <= self.low * 1.000_001 {
            (self.low, self.high) = (round_down_125(self.low * 0.7), round_up_125(self.high * 1.4));
        }
        let decades = (self.high / self.low).log10();
        let (from, to) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        // If there are many decades, only every second or third is labelled. If there are few, the
        // ticks between them are labelled as well.
        let stride = (decades / wanted.max(2) as f64).ceil().max(1.0) as i32;
        let inner = decades < 2.7;
        for exponent in from..=to {
            for digit in 1..=9 {
                let value = f64::from(digit) * 10_f64.powi(exponent);
                if value < self.low * 0.999_999 || value > self.high * 1.000_001 {
                    continue;
                }
                let labelled = if digit == 1 {
                    exponent.rem_euclid(stride) == 0
                } else {
                    inner && matches!(digit, 2 | 5)
                };
                if labelled || decades < 5.0 {
                    let label =
                        if labelled { logarithmic_label(value, self.unit) } else { String::new() };
                    self.ticks.push(Tick { value, label });
                }
            }
        }
    }

    fn fit_binary(&mut self, wanted: usize) {
        // No count lies beyond these exponents.
        let exponent = |value: f64| value.log2().clamp(-1000.0, 1000.0);
        let (from, mut to) = (exponent(self.low).floor(), exponent(self.high).ceil());
        if to <= from {
            to = from + 1.0;
        }
        (self.low, self.high) = (from.exp2(), to.exp2());
        let stride = ((to - from) / wanted.max(2) as f64).ceil().max(1.0);
        let count = ((to - from) / stride).floor() as usize;
        self.ticks = (0..=count)
            .map(|step| (from + step as f64 * stride).exp2())
            .map(|value| Tick { value, label: power_of_two(value).unwrap_or_default() })
            .collect();
    }

    /// Fits an axis of names, each of which gets an equal share of the length.
    fn fit_names(&mut self, names: &[String], length: Width) {
        (self.low, self.high) = (0.5, names.len().max(1) as f64 + 0.5);
        let are_there = fit(names, length);
        if !are_there {
            self.label.push_str(", by its number");
        }
        let tick = |(number, name): (u32, &String)| Tick {
            value: f64::from(number),
            label: if are_there { name.clone() } else { number.to_string() },
        };
        self.ticks = (1..).zip(names).map(tick).collect();
    }

    fn fit_quantile(&mut self) {
        self.low = 1.0;
        self.high = self.high.max(10.0);
        // The first power of ten beyond the last nine that is completely visible.
        let mut value = 10.0;
        // A label `0 %` would overlap with `50 %`.
        self.ticks.push(Tick { value: 1.0, label: String::new() });
        self.ticks.push(Tick { value: 2.0, label: "50 %".to_owned() });
        let mut nines = 1_usize;
        while value <= self.high * 1.000_001 && nines <= 12 {
            let label = match nines {
                1 => "90 %".to_owned(),
                2 => "99 %".to_owned(),
                n => format!("99.{} %", "9".repeat(n - 2)),
            };
            self.ticks.push(Tick { value, label });
            value *= 10.0;
            nines += 1;
        }
    }
}

/// Formats a power of two as `2` with a superscript exponent. Returns `None` if the value is not a
/// power of two.
pub(crate) fn power_of_two(value: f64) -> Option<String> {
    let exponent = value.log2();
    if exponent.fract() != 0.0 || !(-999.0..=999.0).contains(&exponent) {
        return None;
    }
    let raised = |digit: char| match digit {
        '-' => '\u{207b}',
        '1' => '\u{b9}',
        '2' => '\u{b2}',
        '3' => '\u{b3}',
        digit => char::from_u32(0x2070 + digit.to_digit(10).unwrap_or(0)).unwrap_or(digit),
    };
    Some(format!("2{}", (exponent as i32).to_string().chars().map(raised).collect::<String>()))
}

/// Returns the suffix of a unit in which an axis never uses multiples, such as percent.
fn plain_suffix(unit: Unit) -> &'static str {
    match unit {
        Unit::PerSecond => "1/s",
        Unit::CpuPercent | Unit::Fraction => "%",
        Unit::Count | Unit::Index | Unit::Seconds | Unit::Bytes => "",
    }
}

/// Returns the smallest round step (1, 2 or 5 times a power of ten) that is at least `rough`.
fn round_step(rough: f64) -> f64 {
    if !(rough.is_finite() && rough > 0.0) {
        return 1.0;
    }
    round_up_125(rough)
}

fn round_up_125(value: f64) -> f64 {
    let power = 10_f64.powi(value.log10().floor() as i32);
    let lead = value / power;
    let rounded = [1.0, 2.0, 5.0].into_iter().find(|step| lead <= step * 1.000_001).unwrap_or(10.0);
    rounded * power
}

fn round_down_125(value: f64) -> f64 {
    let power = 10_f64.powi(value.log10().floor() as i32);
    let lead = value / power;
    let rounded = [5.0, 2.0].into_iter().find(|step| lead >= step * 0.999_999).unwrap_or(1.0);
    rounded * power
}

/// Formats the label of a tick on a logarithmic axis, with its own unit.
fn logarithmic_label(value: f64, unit: Unit) -> String {
    let unit = if unit == Unit::PerSecond { Unit::Count } else { unit };
    let text = figure(value, unit);
    let (number, suffix) = text.split_once(' ').unwrap_or((&text, ""));
    let number = trim_zeros(number);
    let hide = matches!(unit, Unit::CpuPercent | Unit::Fraction);
    if suffix.is_empty() || hide { number.to_owned() } else { format!("{number} {suffix}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, values: &[f64]) -> Vec<String> {
        let scale = Scale::fit(axis, values.iter().copied(), 6);
        scale.ticks().iter().map(|t| t.label.clone()).filter(|l| !l.is_empty()).collect()
    }

    #[test]
    fn linear_ticks_are_round_and_enclose_the_data() {
        let axis = Axis::linear("switches", Unit::Count);
        assert_eq!(labels(&axis, &[1.0, 50.0]), ["0", "10", "20", "30", "40", "50"]);
        let scale = Scale::fit(&axis, [3.0, 47.0].into_iter(), 6);
        assert!(scale.position(47.0) < 1.0 && scale.position(3.0) > 0.0);
        assert_eq!(
            labels(&Axis::linear("rate", Unit::PerSecond), &[42_000.0]),
            ["0", "10 k", "20 k", "30 k", "40 k", "50 k"]
        );
        let both = labels(&Axis::linear("difference", Unit::Count), &[-1900.0, 1900.0]);
        assert_eq!(both, ["-2,000", "-1,000", "0", "1,000", "2,000"]);
    }

    #[test]
    fn times_and_bytes_are_round_in_the_unit_shown() {
        let scale = Scale::fit(&Axis::linear("time", Unit::Seconds), [3.3e-3].into_iter(), 4);
        assert_eq!(scale.label(), "time (ms)");
        assert_eq!(
            scale.ticks().iter().map(|t| t.label.as_str()).collect::<Vec<_>>(),
            ["0", "1", "2", "3", "4"]
        );
        let scale =
            Scale::fit(&Axis::linear("memory", Unit::Bytes), [300.0 * 1_048_576.0].into_iter(), 4);
        assert_eq!(scale.label(), "memory (MiB)");
        assert_eq!(scale.ticks().last().map(|t| t.label.as_str()), Some("300"));
    }

    #[test]
    fn logarithmic_ticks_name_their_unit() {
        let axis = Axis::logarithmic("round-trip time", Unit::Seconds);
        assert_eq!(labels(&axis, &[1.5e-3, 20.4]), ["1 ms", "10 ms", "100 ms", "1 s", "10 s"]);
        // With few decades the ticks between are labelled.
        assert_eq!(labels(&axis, &[11e-6, 90e-6]), ["10 µs", "20 µs", "50 µs", "100 µs"]);
        let rates = Axis::logarithmic("offered", Unit::PerSecond);
        assert_eq!(labels(&rates, &[10.0, 100_000.0]), ["10", "100", "1 k", "10 k", "100 k"]);
    }

    #[test]
    fn binary_ticks_are_powers_of_two() {
        let axis = Axis::binary("entries");
        assert_eq!(labels(&axis, &[1.0, 16.0]), ["2⁰", "2¹", "2²", "2³", "2⁴"]);
        let wide = labels(&axis, &[1.0, 4_194_304.0]);
        assert_eq!(wide, ["2⁰", "2⁴", "2⁸", "2¹²", "2¹⁶", "2²⁰"]);
        assert_eq!((axis.value(1_048_576.0), axis.value(1000.0)), ("2²⁰".into(), "1.00 k".into()));
    }

    #[test]
    fn each_nine_takes_the_same_room() {
        let scale = Scale::fit(&Axis::quantile("percentile"), [1.0, 1e4].into_iter(), 6);
        let labels: Vec<_> = scale.ticks().iter().map(|t| t.label.as_str()).collect();
        assert_eq!(labels, ["", "50 %", "90 %", "99 %", "99.9 %", "99.99 %"]);
        assert!((scale.position(100.0) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn names_stand_side_by_side_in_the_drawing_and_in_files() {
        let axis = Axis::named("test", vec!["5.1.1".to_owned(), "5.1.4".to_owned()]);
        let scale = Scale::fit(&axis, [2.0].into_iter(), 6);
        assert_eq!([1.0, 2.0].map(|place| scale.position(place)), [0.25, 0.75]);
        assert_eq!(labels(&axis, &[1.0]), ["5.1.1", "5.1.4"]);
        assert_eq!((axis.value(2.0), axis.data(1.0)), ("5.1.4".to_owned(), Datum::Name("5.1.1")));
        assert_eq!((axis.value(3.0), axis.data(0.0)), (String::new(), Datum::Name("")));
        assert_eq!((axis.key(Width::PAGE), scale.label()), (String::new(), "test".to_owned()));
        let long = Axis::named("test", vec!["a name of ".repeat(9), "b".to_owned()]);
        assert_eq!(labels(&long, &[1.0]), ["1", "2"]);
        assert!(long.key(Width::PAGE).ends_with("; 2: b."), "{}", long.key(Width::PAGE));
        assert_eq!(Scale::fit(&long, [1.0].into_iter(), 6).label(), "test, by its number");
    }

    #[test]
    fn degenerate_data_still_has_an_axis() {
        for axis in [
            Axis::linear("x", Unit::Count),
            Axis::logarithmic("x", Unit::Count),
            Axis::quantile("x"),
            Axis::binary("x"),
        ] {
            for values in [vec![], vec![0.0], vec![7.0], vec![f64::NAN, f64::INFINITY], vec![-3.0]]
            {
                let scale = Scale::fit(&axis, values.iter().copied(), 5);
                assert!(scale.ticks().len() >= 2, "{axis:?} {values:?}");
                let position = scale.position(7.0);
                assert!((0.0..=1.0).contains(&position), "{axis:?} {values:?}: {position}");
            }
        }
    }
}
