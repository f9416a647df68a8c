//! Figures as files: every letter of the SVG file must have a glyph in the PDF file. Tests of the command read this file too.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Checks the figures of a run directory and returns how many there are.
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

/// Checks that no text of a drawing leaves it, measured in the font of its PDF file.
pub(crate) fn check_that_texts_stay_inside(svg: &Path, width: f64) {
    let text = fs::read_to_string(svg).expect("a drawing");
    let name = svg.display();
    let file = include_bytes!("../../fonts/DejaVuSansCondensed.ttf");
    let face = ttf_parser::Face::parse(file, 0).expect("a font");
    let side = |tag: &str, name: &str| -> Option<f64> {
        let (value, _) = tag.split_once(&format!(" {name}=\""))?.1.split_once('"')?;
        value.parse().ok()
    };
    let head = text.split('>').next().expect("a tag");
    let height = side(head, "height").expect("a height");
    assert!((side(head, "width").expect("a width") - width).abs() < 0.01, "{name}");
    for element in text.split("<text").skip(1) {
        let (tag, rest) = element.split_once('>').expect("the end of its attributes");
        let shown = plain(rest.split("</text>").next().expect("its end"));
        let size = side(tag, "font-size").expect("a size");
        assert!(size >= 12.0, "{name}: {shown} has a size of {size} pixels");
        let glyphs = shown.chars().filter_map(|letter| face.glyph_index(letter));
        let units: f64 =
            glyphs.filter_map(|glyph| face.glyph_hor_advance(glyph)).map(f64::from).sum();
        let length = units * size / f64::from(face.units_per_em());
        let before = match () {
            () if tag.contains("\"middle\"") => length / 2.0,
            () if tag.contains("\"end\"") => length,
            () => 0.0,
        };
        let (from, to, most) = match tag.split_once("translate(") {
            None => {
                let x = side(tag, "x").expect("a place");
                (x - before, x - before + length, width)
            }
            Some((_, place)) => {
                let (_, y) =
                    place.split_once(')').expect("its end").0.split_once(' ').expect("two");
                let y: f64 = y.parse().expect("a number");
                (y + before - length, y + before, height)
            }
        };
        assert!(
            from >= -1.0 && to <= most + 1.0,
            "{name}: {shown:?} from {from:.1} to {to:.1} of {most}"
        );
    }
}

/// The SVG files of the figures, in order.
pub(crate) fn drawings(run: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(run.join("figures")) else { return Vec::new() };
    let mut figures: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "svg"))
        .collect();
    figures.sort();
    figures
}

/// The letters of all texts that a drawing shows.
fn letters_of(svg: &str) -> BTreeSet<char> {
    let mut letters = BTreeSet::new();
    for element in svg.split("<text ").skip(1) {
        let (text, _) = element.split_once("</text>").expect("its end");
        let (_, text) = text.split_once('>').expect("the end of its attributes");
        letters.extend(plain(text).chars());
    }
    letters
}

fn plain(text: &str) -> String {
    let names = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    names.iter().fold(text.to_owned(), |text, (name, letter)| text.replace(name, letter))
}

/// The letters that the font of a PDF file has, by its own map from glyphs to text.
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
