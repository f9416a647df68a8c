//! Proposes which command to run next, after a trial in which the controller had a backlog.

use crate::outcome::Backlog;

/// The proposed rate as a share of the measured answer rate. It is below 1 so that the controller
/// keeps up.
const SHARE: f64 = 0.8;
/// The proposed waiting time as a multiple of the time in which the controller answers its backlog.
/// It is above 1 so that the wait suffices.
const SPARE: f64 = 1.5;
/// The flag that sets the total rate of all switches. The proposed command contains the flag for
/// the rate of each switch instead.
const TOTAL_RATE: &str = "--total-rate";
/// The longest waiting time that is proposed, in seconds.
const LONGEST: f64 = 3_600.0;

/// Returns a sentence that proposes to run the same command with a rate that the controller can
/// sustain, or with a longer wait for answers. Returns `None` if the rate would be below 0.1 per
/// second and switch.
pub(crate) fn sentence(command: &[String], switches: u32, backlog: &Backlog) -> Option<String> {
    let low = backlog.answer_rate_low.unwrap_or(backlog.answer_rate);
    let rate = two_digits(SHARE * low / f64::from(switches.max(1)));
    if rate <= 0.0 {
        return None;
    }
    let command = without_option(command, TOTAL_RATE);
    let slower = with_option(&command, "-r", "--rate", &rate.to_string());
    let wait = backlog.time_to_answer_s.map(|seconds| (SPARE * seconds).ceil());
    let wait = match wait.filter(|seconds| *seconds <= LONGEST) {
        Some(seconds) => {
            format!(", or wait until it is answered with `--drain until-empty:{seconds}s`")
        }
        None => String::new(),
    };
    Some(format!("Next: `{}`{wait}.", slower.join(" ")))
}

/// Rounds a rate down to two significant digits.
fn two_digits(rate: f64) -> f64 {
    if rate < 0.1 {
        return 0.0;
    }
    let unit = 10f64.powi(rate.log10().floor() as i32 - 1);
    let whole = (rate / unit).floor() * unit;
    // Rounding removes errors of the binary representation. Truncating again could lose a digit.
    (whole * 100.0).round() / 100.0
}

/// Returns the command without the option `long` and its value.
fn without_option(command: &[String], long: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = command.iter();
    while let Some(word) = rest.next() {
        if word == long {
            rest.next();
        } else if word.strip_prefix(long).is_none_or(|value| !value.starts_with('=')) {
            words.push(word.clone());
        }
    }
    words
}

/// Returns the command with an option set to `value`, as words that are quoted for a shell.
fn with_option(command: &[String], short: &str, long: &str, value: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = command.iter();
    while let Some(word) = rest.next() {
        let with_value = word.strip_prefix(long).is_some_and(|value| value.starts_with('='))
            || !word.starts_with("--") && word.starts_with(short) && word.len() > short.len();
        if word == short || word == long {
            rest.next();
        } else if !with_value {
            words.push(quoted(word));
        }
    }
    words.extend([short.to_owned(), value.to_owned()]);
    words
}

/// Quotes a word for a POSIX shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn the_next_command_offers_what_is_answered() {
        let backlog = Backlog {
            answer_rate: 500.0,
            answer_rate_low: Some(499.0),
            answer_rate_high: Some(501.0),
            at_start: 31_002,
            at_end: 186_002,
            growth_rate: 15_500.0,
            time_to_answer_s: Some(372.0),
        };
        for typed in [
            "-n 16 -r 1k",
            "-n 16 -r1k",
            "--rate 1k -n 16",
            "--rate=1k -n 16",
            "-n 16",
            "--total-rate 16k -n 16",
            "--total-rate=16k -n 16",
        ] {
            let command = command(&format!("target/quick/planimeter probe {typed}"));
            let next = sentence(&command, 16, &backlog);
            let expected = "Next: `target/quick/planimeter probe -n 16 -r 24`, or wait until it is answered with \
                            `--drain until-empty:558s`.";
            assert_eq!(next.as_deref(), Some(expected), "{typed}");
        }
        let long = Backlog { time_to_answer_s: Some(9_000.0), ..backlog };
        let next = sentence(&command("planimeter probe -o it's"), 1, &long);
        let expected = r"Next: `planimeter probe -o 'it'\''s' -r 390`.";
        assert_eq!(next.as_deref(), Some(expected));
        let silent = Backlog { answer_rate: 0.0, answer_rate_low: None, ..backlog };
        assert_eq!(sentence(&command("planimeter probe"), 1, &silent), None);
    }
}
