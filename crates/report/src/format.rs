//! Formats figures as text.
//!
//! A figure is shown with three significant digits, in the unit in which it has one to three digits
//! before the decimal point. A mean has the unit of its confidence interval, and the number of
//! digits with which the interval shows two significant digits. Text that users or other programs
//! wrote (names, errors) is stripped of control characters, so that it can neither move the cursor
//! nor break a line.

use statistics::{Estimate, Unit};

/// The multiple of a unit in which figures of some magnitude are shown, such as `ms` or `k/s`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scaling {
    /// The number by which figures are divided before they are shown.
    pub(crate) divisor: f64,
    /// The suffix after the figures, such as `ms` or `k/s`. It may be empty.
    pub(crate) suffix: &'static str,
}

/// Returns the multiple of `unit` in which figures as large as `magnitude` are shown.
pub(crate) fn scaling(unit: Unit, magnitude: f64) -> Scaling {
    let steps: &[(f64, &'static str)] = match unit {
        Unit::Count => &[(1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G")],
        Unit::PerSecond => &[(1.0, "/s"), (1e3, "k/s"), (1e6, "M/s"), (1e9, "G/s")],
        // Zero is shown in seconds.
        Unit::Seconds if magnitude == 0.0 => &[(1.0, "s")],
        Unit::Seconds => &[(1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s")],
        Unit::CpuPercent => &[(1.0, "%")],
        Unit::Fraction => &[(1e-2, "%")],
        Unit::Bytes => &[
            (1.0, "B"),
            (1024.0, "KiB"),
            (1_048_576.0, "MiB"),
            (1_073_741_824.0, "GiB"),
            (1_099_511_627_776.0, "TiB"),
        ],
        Unit::Index => &[(1.0, "")],
    };
    // Figures are rounded to three digits, so 999.6 belongs to the next unit.
    let magnitude = magnitude.abs() * (1.0 + 0.5e-3);
    let largest = steps.iter().rev().find(|step| magnitude >= step.0).or(steps.first());
    largest.map_or(Scaling { divisor: 1.0, suffix: "" }, |&(divisor, suffix)| Scaling {
        divisor,
        suffix,
    })
}

/// Returns the number of digits after the decimal point with which `value` has `significant`
/// significant digits, but at most `most`.
fn decimals(value: f64, significant: i32, most: i32) -> usize {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    // 0.9997 will be rounded up to 1.
    let before = (value.abs() * (1.0 + 0.5e-3)).log10().floor() as i32 + 1;
    (significant - before).clamp(0, most) as usize
}

/// Joins a number and the suffix of its unit, with a space if the suffix needs one: `4.98 k/s`.
fn join(number: &str, suffix: &str) -> String {
    match suffix {
        "" => number.to_owned(),
        "/s" => format!("{number}/s"),
        suffix => format!("{number} {suffix}"),
    }
}

/// Formats a figure with its unit: `4.98 k/s`, `873 µs`, `0.013 %`. An infinite figure, or one that
/// is not a number, becomes a dash.
pub(crate) fn figure(value: f64, unit: Unit) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let scale = scaling(unit, value);
    let scaled = value / scale.divisor;
    let digits = match unit {
        // A count is a whole number unless it is scaled.
        Unit::Count if scale.suffix.is_empty() => {
            decimals(scaled, 3, 1).min(usize::from(scaled.fract() != 0.0))
        }
        Unit::Bytes if scale.suffix == "B" => 0,
        Unit::Index => decimals(scaled, 5, 4),
        Unit::Fraction if scaled != 0.0 && scaled.abs() < 0.001 => {
            return format!("<0.001 {}", scale.suffix);
        }
        // 99.99 % must not be rounded to 100 %.
        Unit::Fraction if scaled > 99.0 && scaled < 100.0 => 3,
        _ => decimals(scaled, 3, 3),
    };
    join(&format!("{scaled:.digits$}"), scale.suffix)
}

/// Formats a figure that a user requested, rather than a measured one, without trailing zeros:
/// `100/s`, `2.5 k/s`.
pub(crate) fn setting(value: f64, unit: Unit) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let scale = scaling(unit, value);
    let number = format!("{:.3}", value / scale.divisor);
    join(trim_zeros(&number), scale.suffix)
}

/// Removes trailing zeros from the fraction of a formatted number.
pub(crate) fn trim_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

/// Formats a figure with its unit, or a dash for `None`.
pub(crate) fn optional(value: Option<f64>, unit: Unit) -> String {
    value.map_or_else(|| "–".to_owned(), |value| figure(value, unit))
}

/// Formats a mean over repetitions with its confidence interval in a common unit:
/// `1.471 ± 0.010 k/s`, or `3.3 (0-8.8) ms` if the interval is limited to possible values. With a
/// single repetition there is no interval, and none is shown.
pub(crate) fn estimate(estimate: &Estimate, unit: Unit) -> String {
    let Some((ci, interval)) = estimate.ci95.zip(estimate.interval(unit)) else {
        return figure(estimate.mean, unit);
    };
    if estimate.min == 0.0 && estimate.max == 0.0 {
        return figure(0.0, unit);
    }
    if !estimate.mean.is_finite() {
        return "–".to_owned();
    }
    if (interval.low, interval.high) != (estimate.mean - ci, estimate.mean + ci) {
        return cut(estimate.mean, ci, interval.low, interval.high, unit);
    }
    let (mean, ci, suffix) = mean_and_interval(estimate.mean, ci, unit);
    join(&format!("{mean} ± {ci}"), suffix)
}

/// Formats a mean whose interval from `low` to `high` is limited to possible values, in a common
/// unit: `3.3 (0-8.8) ms`. `half`, half of the width that the interval has without this limit,
/// determines the number of digits.
pub(crate) fn cut(mean: f64, half: f64, low: f64, high: f64, unit: Unit) -> String {
    let scale = scaling(unit, if mean == 0.0 { half } else { mean });
    let (text, _, suffix) = mean_and_interval(mean, half, unit);
    let digits = text.split_once('.').map_or(0, |(_, behind)| behind.len());
    let end = |value: f64| match value {
        0.0 => "0".to_owned(),
        value => format!("{:.digits$}", value / scale.divisor),
    };
    join(&format!("{text} ({}-{})", end(low), end(high)), suffix)
}

/// Formats a figure with its interval, which may be asymmetric: `1.471 ± 0.010 k/s`,
/// `20.1 (18.2-27.0) s`.
pub(crate) fn with_interval(value: f64, interval: Option<(f64, f64)>, unit: Unit) -> String {
    let Some((low, high)) = interval else { return figure(value, unit) };
    let even = ((high - value) - (value - low)).abs() <= 1e-6 * (high - low).abs();
    if even && (value, low, high) != (0.0, 0.0, 0.0) && value.is_finite() {
        let (mean, half, suffix) = mean_and_interval(value, (high - low) / 2.0, unit);
        return join(&format!("{mean} ± {half}"), suffix);
    }
    match low == high {
        true => figure(value, unit),
        // The short form is used only if no number is negative, because a minus sign could be read
        // as a dash.
        false if low >= 0.0 && value.is_finite() => cut(value, (high - low) / 2.0, low, high, unit),
        false => {
            format!("{} ({} to {})", figure(value, unit), figure(low, unit), figure(high, unit))
        }
    }
}

/// Formats a mean and half of its confidence interval in one unit with equally many decimals.
/// Returns the text of the mean, the text of half of the interval, and the suffix of the unit.
pub(crate) fn mean_and_interval(mean: f64, ci: f64, unit: Unit) -> (String, String, &'static str) {
    let scale = scaling(unit, if mean == 0.0 { ci } else { mean });
    let (mean, ci) = (mean / scale.divisor, ci / scale.divisor);
    // The rounding error between numerically equal values is not an interval.
    let ci = if ci < mean.abs() * 1e-9 { 0.0 } else { ci };
    // Two digits of the interval state all that it says about the mean.
    let digits = match (unit, ci == 0.0) {
        (Unit::Index, true) => decimals(mean, 5, 4),
        (Unit::Index, false) => decimals(ci, 2, 4),
        (_, true) => decimals(mean, 3, 3),
        (_, false) => decimals(ci, 2, 3),
    };
    (format!("{mean:.digits$}"), format!("{ci:.digits$}"), scale.suffix)
}

/// Formats a whole number with thousands separators: `1,234,567`.
pub(crate) fn whole(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a duration for people: `850 ms`, `42 s`, `6 min 12 s`, `2 h 5 min`.
pub(crate) fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return "–".to_owned();
    }
    if seconds < 99.95 {
        let text = figure(seconds, Unit::Seconds);
        let (number, suffix) = text.split_once(' ').unwrap_or((&text, ""));
        return join(trim_zeros(number), suffix);
    }
    let whole = seconds.round() as u64;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours > 0 { format!("{hours} h {minutes} min") } else { format!("{minutes} min {rest} s") }
}

/// Formats a count with its noun in the singular or plural: `1 switch`, `50 switches`.
pub(crate) fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", whole(count), if count == 1 { one } else { many })
}

/// Returns the text with its first letter capitalised.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Returns text that users or other programs wrote in a form that can be printed on one line. Line
/// breaks and tabs become spaces. Any other control character becomes a replacement character, so
/// that a reader sees that there was one.
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\t' | '\r' => ' ',
            c if c.is_control() => char::REPLACEMENT_CHARACTER,
            // These characters change the direction of the text.
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                char::REPLACEMENT_CHARACTER
            }
            c => c,
        })
        .collect()
}

/// Formats the words of a command line as they would be typed into a shell.
pub(crate) fn command_line(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    let quoted = words.iter().map(|word| {
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", printable(word).replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(mean: f64, ci95: Option<f64>) -> Estimate {
        Estimate { n: 5, mean, stddev: None, ci95, min: mean, max: mean, most: None }
    }

    #[test]
    fn figures_take_the_unit_in_which_they_read_best() {
        assert_eq!(figure(0.0, Unit::Seconds), "0 s");
        assert_eq!(figure(873e-9, Unit::Seconds), "873 ns");
        assert_eq!(figure(12.345e-6, Unit::Seconds), "12.3 µs");
        assert_eq!(figure(999.7e-6, Unit::Seconds), "1.00 ms");
        assert_eq!(figure(20.4, Unit::Seconds), "20.4 s");
        assert_eq!(figure(4_980.0, Unit::PerSecond), "4.98 k/s");
        assert_eq!(figure(17_400_000.0, Unit::PerSecond), "17.4 M/s");
        assert_eq!(figure(280.0, Unit::CpuPercent), "280 %");
        assert_eq!(figure(1_610_612_736.0, Unit::Bytes), "1.50 GiB");
        assert_eq!(figure(12.0, Unit::Count), "12");
        assert_eq!(figure(f64::NAN, Unit::Count), "–");
        assert_eq!(figure(0.99987, Unit::Index), "0.9999");
    }

    #[test]
    fn intervals_that_are_cut_show_both_ends() {
        let of = |values: &[f64]| Estimate::of(values).expect("values");
        // The interval of two repetitions by Student's t distribution reaches far below 0.
        assert_eq!(estimate(&of(&[2.9e-3, 3.7e-3]), Unit::Seconds), "3.3 (0-8.4) ms");
        assert_eq!(estimate(&of(&[0.9, 1.0]), Unit::Fraction), "95 (31-100) %");
        let cpu = of(&[150.0, 190.0]).at_most(200.0);
        assert_eq!(estimate(&cpu, Unit::CpuPercent), "170 (0-200) %");
        assert_eq!(estimate(&of(&[10.0, 10.1]), Unit::PerSecond), "10.05 ± 0.64/s");
    }

    #[test]
    fn settings_have_no_idle_digits() {
        assert_eq!(setting(100.0, Unit::PerSecond), "100/s");
        assert_eq!(setting(2_500.0, Unit::PerSecond), "2.5 k/s");
        assert_eq!(setting(0.25, Unit::PerSecond), "0.25/s");
        assert_eq!(setting(20e6, Unit::PerSecond), "20 M/s");
    }

    #[test]
    fn a_small_loss_is_never_rounded_to_none_nor_a_large_one_to_all() {
        assert_eq!(figure(0.0, Unit::Fraction), "0 %");
        assert_eq!(figure(1e-7, Unit::Fraction), "<0.001 %");
        assert_eq!(figure(0.000_13, Unit::Fraction), "0.013 %");
        assert_eq!(figure(0.123_4, Unit::Fraction), "12.3 %");
        assert_eq!(figure(0.999_96, Unit::Fraction), "99.996 %");
        assert_eq!(figure(1.0, Unit::Fraction), "100 %");
    }

    #[test]
    fn an_interval_sets_the_digits_of_its_mean() {
        assert_eq!(estimate(&of(1_471.0, Some(10.0)), Unit::PerSecond), "1.471 ± 0.010 k/s");
        assert_eq!(estimate(&of(1_471.0, Some(410.0)), Unit::PerSecond), "1.47 ± 0.41 k/s");
        assert_eq!(estimate(&of(1.6868, Some(0.323)), Unit::Index), "1.69 ± 0.32");
        assert_eq!(estimate(&of(0.99987, Some(0.000_04)), Unit::Index), "0.9999 ± 0.0000");
        assert_eq!(estimate(&of(20.1, Some(1.3)), Unit::Seconds), "20.1 ± 1.3 s");
        assert_eq!(estimate(&of(4_980.0, None), Unit::PerSecond), "4.98 k/s");
        assert_eq!(estimate(&of(10.0, Some(1e-15)), Unit::PerSecond), "10.0 ± 0.0/s");
        assert_eq!(estimate(&of(0.0, Some(0.0)), Unit::Fraction), "0 %");
    }

    #[test]
    fn counts_and_durations_are_formatted_for_people() {
        assert_eq!(whole(0), "0");
        assert_eq!(whole(999), "999");
        assert_eq!(whole(1_234_567), "1,234,567");
        assert_eq!(duration(0.85), "850 ms");
        assert_eq!(duration(60.0), "60 s");
        assert_eq!(duration(26.512), "26.5 s");
        assert_eq!(duration(372.0), "6 min 12 s");
        assert_eq!(duration(7_500.0), "2 h 5 min");
        assert_eq!(plural(1, "switch", "switches"), "1 switch");
        assert_eq!(plural(1000, "switch", "switches"), "1,000 switches");
    }

    #[test]
    fn outside_text_cannot_move_the_cursor() {
        assert_eq!(printable("a\u{1b}[2Jb\nc\u{202e}d"), "a\u{fffd}[2Jb c\u{fffd}d");
    }

    #[test]
    fn a_command_line_can_be_pasted_into_a_shell() {
        let words = ["planimeter", "probe", "--between", "it's; rm", ""].map(str::to_owned);
        assert_eq!(command_line(&words), r"planimeter probe --between 'it'\''s; rm' ''");
    }
}
