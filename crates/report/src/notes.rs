//! Merges the remarks about a run and its trials for the report.
//!
//! Many trials of a sweep have the same remark, with other numbers in it. Remarks that differ only
//! in numbers are merged into one, which shows the smallest and the largest value of each number.

use probe::outcome::RunResult;

use crate::describe;
use crate::format::printable;

/// Returns the remarks, with those that differ only in numbers merged.
pub(crate) fn merged<'a>(notes: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut remarks = Vec::new();
    for note in notes {
        add(&mut remarks, note, "");
    }
    remarks.iter().map(Remark::text).collect()
}

/// Returns the text that occurs most often, merged as a remark, and the number of its occurrences.
/// Texts that differ only in numbers count as one text. Returns the first of equally frequent
/// texts, and `None` if there is no text.
pub(crate) fn commonest<'a>(texts: impl Iterator<Item = &'a str>) -> Option<(String, usize)> {
    let mut remarks = Vec::new();
    for text in texts {
        add(&mut remarks, text, "");
    }
    // `max_by_key` returns the last of several maxima.
    let commonest = remarks.iter().rev().max_by_key(|remark| remark.count)?;
    Some((commonest.text(), commonest.count))
}

/// Returns the rank of a remark. Remarks of lower rank are shown first. The rank is 0 for the
/// remark that the probe itself caused a quarter or more of some latencies, 2 for remarks on rare
/// delays of the probe and its host, and 1 for all others.
fn rank(note: &str) -> u8 {
    // The words by which the remark of rank 0 is recognised. They follow the list of percentiles.
    const OWN: &str = "are the probe's own by a quarter or more";
    const LAST: [&str; 3] = [
        "At least one packet-in in a hundred left",
        "For at least a hundredth of the time the probe read nothing",
        "The hypervisor withheld",
    ];
    if note.starts_with("Round-trip times at") && note.contains(OWN) {
        0
    } else if LAST.iter().any(|start| note.starts_with(start)) {
        2
    } else {
        1
    }
}

/// Returns the remarks about a run and its trials, the most important first. A remark that only
/// some trials have is followed by the first point and trial that have it.
pub(crate) fn notes(result: &RunResult) -> Vec<String> {
    let mut notes = merged(result.notes.iter().map(String::as_str));
    let total: usize = result.points.iter().map(|p| p.trials.len()).sum();
    let mut of_trials: Vec<Remark> = Vec::new();
    for at in &result.points {
        for trial in &at.trials {
            let place = describe::place(at, &result.points);
            let place = format!("{place}, trial {}", trial.repetition);
            for note in &trial.notes {
                add(&mut of_trials, note, &place);
            }
        }
    }
    of_trials.sort_by(|a, b| a.words.cmp(&b.words));
    for remark in &of_trials {
        let note = remark.text();
        notes.push(match remark.count {
            n if n >= total => note,
            1 => format!("{note} ({})", remark.first),
            n => format!("{note} ({n} of {total} trials, first {})", remark.first),
        });
    }
    notes.sort_by_key(|note| rank(note));
    notes
}

/// A remark, or several that differ only in numbers.
struct Remark {
    /// The words before, between and after the numbers. There is one more of these pieces than
    /// there are numbers.
    words: Vec<String>,
    /// The smallest and the largest value of each number in the text, as they were written.
    numbers: Vec<(String, String)>,
    /// The number of merged remarks.
    count: usize,
    /// The point and trial of the first of the merged remarks, in words.
    first: String,
}

impl Remark {
    fn text(&self) -> String {
        let mut text = String::new();
        for (place, words) in self.words.iter().enumerate() {
            text.push_str(words);
            match self.numbers.get(place) {
                Some((least, most)) if least == most => text.push_str(least),
                Some((least, most)) => text.push_str(&format!("{least} to {most}")),
                None => {}
            }
        }
        printable(&text)
    }
}

/// Adds a note to the remarks, or merges it with one that differs only in numbers. `place` is the
/// point and trial of the note, in words.
fn add(remarks: &mut Vec<Remark>, note: &str, place: &str) {
    let (words, numbers) = parts(note);
    if let Some(known) = remarks.iter_mut().find(|remark| remark.words == words) {
        for ((least, most), number) in known.numbers.iter_mut().zip(numbers) {
            // The number is a list of percentiles, of which the longest list includes the others.
            if number.starts_with('p') {
                if number.len() > least.len() {
                    (*least, *most) = (number.clone(), number);
                }
                continue;
            }
            if value(&number) < value(least) {
                least.clone_from(&number);
            }
            if value(&number) > value(most) {
                *most = number;
            }
        }
        known.count += 1;
    } else {
        let numbers = numbers.into_iter().map(|number| (number.clone(), number)).collect();
        remarks.push(Remark { words, numbers, count: 1, first: place.to_owned() });
    }
}

/// Splits a text into its numbers and the words around them. A list of percentiles counts as a
/// number.
fn parts(text: &str) -> (Vec<String>, Vec<String>) {
    let (mut words, mut numbers) = (vec![String::new()], Vec::new());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let after_letter = words.last().is_some_and(|word| word.ends_with(char::is_alphanumeric));
        let length = if after_letter { 0 } else { number(rest).max(percentiles(rest)) };
        if length > 0 {
            numbers.push(rest[..length].to_owned());
            words.push(String::new());
            rest = &rest[length..];
            continue;
        }
        // The parts of an address or a version are not numbers.
        let digits = rest.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
        let (word, after) = rest.split_at(digits.max(first.len_utf8()));
        if let Some(last) = words.last_mut() {
            last.push_str(word);
        }
        rest = after;
    }
    (words, numbers)
}

/// Returns the length of the number at the start of a text, or 0 if there is none. A number
/// consists of digits, with a fraction if digits follow a point. Text that continues with letters
/// or another point, such as an address or a version, is not a number.
fn number(text: &str) -> usize {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(text);
    if whole == 0 {
        return 0;
    }
    let fraction = text[whole..].strip_prefix('.').map_or(0, digits);
    let length = if fraction > 0 { whole + 1 + fraction } else { whole };
    let after = &text[length..];
    let goes_on = after.starts_with(char::is_alphanumeric)
        || after.strip_prefix('.').is_some_and(|after| digits(after) > 0);
    if goes_on { 0 } else { length }
}

/// Returns the length of the list of percentiles at the start of a text, such as
/// `p90, p95 and p99`, or 0 if there is none.
fn percentiles(text: &str) -> usize {
    let mut length = 0;
    let mut rest = text;
    while let Some(digits) = rest.strip_prefix('p').map(number).filter(|digits| *digits > 0) {
        let own = text.len() - rest.len() + 1 + digits;
        length = own;
        let after = &text[own..];
        let Some(next) = [", ", " and "].iter().find_map(|joint| after.strip_prefix(joint)) else {
            break;
        };
        rest = next;
    }
    length
}

/// Parses a number of a remark, or returns NaN if the text is not a number. NaN compares as neither
/// less nor greater, so that the first of several such texts is kept.
fn value(number: &str) -> f64 {
    number.parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(notes: &[&str]) -> Vec<String> {
        super::merged(notes.iter().copied())
    }

    #[test]
    fn remarks_that_differ_in_numbers_are_one() {
        let notes = [
            "271 answers of 6000 came 1.25 s late.",
            "9 answers of 6000 came 0.5 s late.",
            "40 answers of 6000 came 11.0 s late.",
        ];
        assert_eq!(merged(&notes), ["9 to 271 answers of 6000 came 0.5 to 11.0 s late."]);
    }

    #[test]
    fn the_longest_list_of_percentiles_stands_for_all() {
        let notes =
            ["slow at p99: 3 times", "slow at p90, p95 and p99: 1 times", "slow at ports: 2 times"];
        assert_eq!(
            merged(&notes),
            ["slow at p90, p95 and p99: 1 to 3 times", "slow at ports: 2 times"]
        );
    }

    #[test]
    fn other_words_other_addresses_and_names_stay_apart() {
        let notes = ["s1 is late", "s2 is late", "10.0.0.1 is late", "10.0.0.2 is late", "7 rules"];
        assert_eq!(merged(&notes), notes);
    }

    #[test]
    fn what_makes_figures_the_probes_own_goes_first() {
        let mut notes = [
            "The hypervisor withheld 0.12 s of processor time",
            "Values over time are kept in sum only",
            "At least one packet-in in a hundred left more than 1 ms late",
            "Round-trip times at p99 are the probe's own by a quarter or more: they",
        ];
        notes.sort_by_key(|note| rank(note));
        assert!(notes[0].starts_with("Round-trip") && notes[1].starts_with("Values"), "{notes:?}");
    }

    #[test]
    fn a_text_is_its_parts() {
        for text in ["", "12", "a 3.5.", "1.2.3 x9 007: 4%", "größe 5 µs", "9 9"] {
            assert_eq!(merged(&[text]), [printable(text)], "{text}");
        }
    }
}
