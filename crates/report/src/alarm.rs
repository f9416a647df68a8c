//! Failures of a run. Reports show them above all other content, on the page as well as on the
//! terminal, and show good news below them in a neutral tone.

use provenance::Provenance;

use crate::format::{plural, printable};
use crate::terminal::grid::Paint;
use crate::terminal::layout::Layout;

/// The kind of a failure. The variants are in the order of their seriousness, the most serious
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A threshold of the user does not hold.
    Threshold,
    /// The run did not measure everything that was requested.
    Partial,
    /// One of several processes that share a run did not complete its part.
    Missing,
    /// A measured output is wrong, or no message was answered.
    Wrong,
}

/// A failure of a run, as a sentence with its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Alarm {
    pub(crate) kind: Kind,
    /// The word in capitals that the terminal shows before the sentence, such as `FAIL`.
    pub(crate) word: &'static str,
    /// The failure as a sentence.
    pub(crate) text: String,
    /// Further details after the sentence (empty if there are none).
    pub(crate) more: String,
}

impl Alarm {
    pub(crate) fn new(kind: Kind, word: &'static str, text: impl Into<String>) -> Self {
        Self { kind, word, text: text.into(), more: String::new() }
    }

    pub(crate) fn with(self, more: impl Into<String>) -> Self {
        Self { more: more.into(), ..self }
    }

    /// Returns the failure of a run that was interrupted before everything was measured.
    pub(crate) fn interrupted(more: impl Into<String>) -> Self {
        Self::new(Kind::Partial, "PARTIAL", "This run is partial: it was interrupted.").with(more)
    }
}

/// The largest number of broken thresholds that are reported one by one. The others are only
/// counted.
const MAX_NAMED: usize = 6;

/// Returns the failures for the thresholds that do not hold. `sentences` contains a sentence for
/// each. The first [`MAX_NAMED`] sentences become failures of their own, and one further failure
/// counts the rest.
pub(crate) fn broken(sentences: &[String]) -> Vec<Alarm> {
    let fail = |text: String| Alarm::new(Kind::Threshold, "FAIL", text);
    let mut alarms: Vec<Alarm> =
        sentences.iter().take(MAX_NAMED).map(|text| fail(printable(text))).collect();
    if sentences.len() > MAX_NAMED {
        let rest = plural((sentences.len() - MAX_NAMED) as u64, "more does", "more do");
        alarms.push(fail(format!("{rest} not hold")));
    }
    alarms
}

/// Returns the failure that processes of a shared run did not complete their part, or `None` if all
/// did.
pub(crate) fn missing(provenance: &Provenance) -> Option<Alarm> {
    let text = format!("This run is partial: {}", printable(&provenance.missing()?));
    Some(Alarm::new(Kind::Missing, "PARTIAL", text))
}

/// Formats failures as paragraphs for a terminal, the most serious first. The text ends with a
/// newline unless it is empty.
pub(crate) fn text(alarms: &[Alarm], layout: Layout) -> String {
    let mut out = String::new();
    for alarm in worst_first(alarms) {
        let more = if alarm.more.is_empty() { String::new() } else { format!(" {}", alarm.more) };
        let text = format!("{}{more}", alarm.text);
        out.push_str(&layout.paragraph(&format!("{}  ", alarm.word), &text, Paint::Bad));
    }
    out
}

pub(crate) fn worst_first(alarms: &[Alarm]) -> Vec<&Alarm> {
    let mut sorted: Vec<&Alarm> = alarms.iter().collect();
    sorted.sort_by_key(|alarm| alarm.kind);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Block, Page, Tone};

    #[test]
    fn the_worst_stands_first_and_nothing_is_good_below_it() {
        let alarms = [
            Alarm::new(Kind::Wrong, "WRONG", "an output"),
            Alarm::interrupted("one of two"),
            Alarm::new(Kind::Threshold, "FAIL", "a threshold"),
        ];
        let text = text(&alarms, Layout { width: 80, colour: false });
        let partial = "PARTIAL  This run is partial: it was interrupted. one of two\n";
        assert_eq!(text, format!("FAIL  a threshold\n{partial}WRONG  an output\n"));
        let mut page = Page::new("Planimeter", "A run");
        page.lead(Block::card(Tone::Good, "fast"));
        assert!(page.html().contains("card good"));
        page.raise(alarms);
        let html = page.html();
        let at = |text: &str| html.find(text).unwrap_or_else(|| panic!("{text} is not in {html}"));
        assert!(
            at("a threshold") < at("is partial") && at("is partial") < at("an output"),
            "{html}"
        );
        assert!(at("an output") < at("fast") && !html.contains("card good"), "{html}");
    }

    #[test]
    fn of_many_conditions_the_first_are_named() {
        let sentences: Vec<String> = (0..9).map(|n| format!("threshold {n}")).collect();
        let alarms = broken(&sentences);
        assert_eq!(alarms.len(), MAX_NAMED + 1);
        assert_eq!(alarms[MAX_NAMED].text, "3 more do not hold");
    }
}
