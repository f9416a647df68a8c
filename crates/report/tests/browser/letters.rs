//! Tests figures as files. Every letter of the SVG file must have a glyph in the PDF file. Tests of
//! the command use this file too.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Checks the figures of a run directory and returns their number.
pub(crate) fn check(run: &Path) -> usize {
    let figures = drawings(run);
    for svg in &figures {
        let drawn = letters_of(&fs::read_to_string(svg).expect("a drawing"));
        let printed = glyphs_of(&fs::read(svg.with_extension("pdf")).expect("a PDF file"));
        assert!(!drawn.contains(&'\u{fffd}'), "{}: {drawn:?}", svg.display());
        assert_eq!(drawn, printed, "letters and glyphs of {}", svg.display());
    }
    figures.len()
}

/// Returns the SVG files of the figures, in order.
pub(crate) fn drawings(run: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(run.join("figures")) else { return Vec::new() };
    let mut figures: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "svg"))
        .collect();
    figures.sort();
    figures
}

/// Returns the letters of all texts in a drawing.
fn letters_of(svg: &str) -> BTreeSet<char> {
    let mut letters = BTreeSet::new();
    for element in svg.split("<text ").skip(1) {
        let (text, _) = element.split_once("</text>").expect("its end");
        let (_, text) = text.split_once('>').expect("the end of its attributes");
        letters.extend(plain(text).chars());
    }
    letters
}

/// Returns a text with XML entities replaced by their letters.
pub(crate) fn plain(text: &str) -> String {
    let names = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    names.iter().fold(text.to_owned(), |text, (name, letter)| text.replace(name, letter))
}

/// Returns the letters that the font of a PDF file covers, by its own map from glyphs to text.
fn glyphs_of(pdf: &[u8]) -> BTreeSet<char> {
    let text = String::from_utf8_lossy(pdf);
    let mut letters = BTreeSet::new();
    for section in text.split("beginbfchar\n").skip(1) {
        let (entries, _) = section.split_once("endbfchar").expect("its end");
        for entry in entries.lines() {
            let units = entry.rsplit('<').next().expect("a text").trim_end_matches('>');
            let unit = u32::from_str_radix(units, 16).expect("one unit of UTF-16");
            letters.insert(char::from_u32(unit).expect("a letter"));
        }
    }
    letters
}
