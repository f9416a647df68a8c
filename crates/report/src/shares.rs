//! Reports the share of each process in a run that several processes share.

use provenance::{Provenance, Share};

use crate::alarm;
use crate::format::printable;
use crate::page::{Block, Note, Page, Text};
use crate::terminal::{Layout, Paint};

/// Formats a paragraph for each process that shared a run. A paragraph about missing work comes
/// first. The text ends with a newline, or is empty if the run had a single process.
#[must_use]
pub fn text(provenance: &Provenance, layout: Layout) -> String {
    if provenance.shares.is_empty() {
        return String::new();
    }
    let mut out = layout.heading("Shared work");
    if let Some(missing) = provenance.missing() {
        out.push_str(&layout.paragraph("PARTIAL  ", &printable(&missing), Paint::Bad));
    }
    for share in &provenance.shares {
        out.push_str(&layout.paragraph("  - ", &printable(&share.in_words()), Paint::Plain));
    }
    if let Some(warning) = warning(&provenance.shares) {
        out.push_str(&layout.paragraph("  - ", &printable(&warning), Paint::Warn));
    }
    out
}

/// Adds the share of each process in a run to the top of a page.
pub(crate) fn lead(page: &mut Page, provenance: &Provenance) {
    if provenance.shares.is_empty() {
        return;
    }
    page.raise(alarm::missing(provenance));
    // These are facts rather than notes, because notes that differ only in numbers are merged.
    let fact =
        |share: &Share| (Text::from(printable(&share.who())), Text::from(printable(&share.what())));
    page.lead(Block::Facts(provenance.shares.iter().map(fact).collect()));
    if let Some(warning) = warning(&provenance.shares) {
        page.lead(Block::Notes(vec![Note::warning(printable(&warning))]));
    }
}

/// Returns a warning if figures of different processes cannot be compared, because the processors
/// of their hosts differ.
fn warning(shares: &[Share]) -> Option<String> {
    let mut models =
        shares.iter().filter(|share| !share.did.is_empty()).map(|share| &share.host.cpu_model);
    let first = models.next()?;
    models.any(|model| model != first).then(|| {
        "Processors differ: results of different ranks compare only the processors.".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use provenance::Host;

    fn share(rank: u32, model: &str, did: &[&str]) -> Share {
        let host =
            Host { hostname: format!("h{rank}"), cpu_model: model.to_owned(), ..Host::default() };
        Share {
            rank,
            host,
            did: did.iter().map(|one| (*one).to_owned()).collect(),
            ..Share::default()
        }
    }

    #[test]
    fn who_did_what_and_what_is_missing_is_said_on_terminal_and_page() {
        let layout = Layout { width: 200, colour: false };
        assert_eq!(text(&Provenance::default(), layout), "");
        let mut lost = share(1, "", &[]);
        (lost.missing, lost.remark) = (vec!["64 entries".to_owned()], Some("it ended".to_owned()));
        let shares = vec![share(0, "A", &["16 entries"]), lost];
        let mut provenance = Provenance { shares, ..Provenance::default() };
        let said = text(&provenance, layout);
        assert!(said.contains("PARTIAL  rank 1 (it ended) left out 64 entries"), "{said}");
        assert!(
            said.contains("rank 0 on h0 (A): 16 entries") && !said.contains("differ"),
            "{said}"
        );
        let page = Page::of_run(&provenance, "tests", "A run").html();
        assert!(
            page.contains("left out 64 entries") && page.contains("rank 0 on h0 (A)"),
            "{page}"
        );
        provenance.shares = vec![share(0, "A", &["16 entries"]), share(1, "B", &["64 entries"])];
        let said = text(&provenance, layout);
        assert!(said.contains("Processors differ") && !said.contains("PARTIAL"), "{said}");
    }
}
