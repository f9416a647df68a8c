//! The font of PDF figures: its glyphs, their widths, and the subset that one figure needs.
//!
//! The standard fonts of PDF readers lack superscript digits, arrows and most mathematical signs,
//! so each PDF file embeds the glyphs that it uses (see `fonts/README.md`).

use subsetter::GlyphRemapper;
use ttf_parser::{Face, GlyphId};

use super::drawing::DrawingError;

const FILE: &[u8] = include_bytes!("../../fonts/DejaVuSansCondensed.ttf");
/// The character that is drawn in place of a character that the font lacks.
const REPLACEMENT: char = '\u{fffd}';

/// The characters that one figure uses, whose glyphs its PDF file embeds.
pub(super) struct Letters {
    face: Face<'static>,
    numbers: GlyphRemapper,
    /// Each character once, with the number of its glyph among the embedded ones.
    used: Vec<Letter>,
}

/// A letter that a figure uses.
struct Letter {
    letter: char,
    /// The number of the letter's glyph among those that the PDF file embeds.
    glyph: u16,
    /// The width of the letter in thousandths of the font size.
    width: f64,
}

/// The metrics of the font that a PDF file states, in thousandths of the font size.
pub(super) struct Measures {
    pub(super) ascent: f64,
    pub(super) descent: f64,
    /// The left, bottom, right and top edge of the bounding box of all glyphs.
    pub(super) bounds: [f64; 4],
}

impl Letters {
    pub(super) fn new() -> Result<Self, DrawingError> {
        let face = Face::parse(FILE, 0).map_err(DrawingError::new)?;
        Ok(Self { face, numbers: GlyphRemapper::new(), used: Vec::new() })
    }

    /// Returns the width of a text at font size 1.
    pub(super) fn width(&self, text: &str) -> f64 {
        text.chars().map(|letter| self.advance(self.glyph(letter))).sum::<f64>() / 1000.0
    }

    /// Returns a text as the content of a PDF hexadecimal string, with two bytes for each glyph.
    /// Adds its letters to those that the figure uses.
    pub(super) fn encoded(&mut self, text: &str) -> String {
        text.chars().map(|letter| format!("{:04x}", self.number(letter))).collect()
    }

    /// Returns a font file with the glyphs of the letters that the figure has used so far.
    pub(super) fn file(&self) -> Result<Vec<u8>, DrawingError> {
        subsetter::subset(FILE, 0, &self.numbers).map_err(DrawingError::new)
    }

    /// Returns the widths of the figure's letters as the array `W` of a PDF font (ISO 32000-1,
    /// 9.7.4.3).
    pub(super) fn widths(&self) -> String {
        let widths = self.used.iter().map(|one| format!("{} [{:.0}]", one.glyph, one.width));
        widths.collect::<Vec<_>>().join(" ")
    }

    /// Returns the map from glyphs to text, with which text can be copied from the PDF file and
    /// found in it (ISO 32000-1, 9.10.3).
    pub(super) fn map(&self) -> String {
        let mut lines = String::new();
        // A section may have at most 100 entries.
        for entries in self.used.chunks(100) {
            lines.push_str(&format!("{} beginbfchar\n", entries.len()));
            for one in entries {
                let units = one
                    .letter
                    .encode_utf16(&mut [0; 2])
                    .iter()
                    .map(|unit| format!("{unit:04x}"))
                    .collect::<String>();
                lines.push_str(&format!("<{:04x}> <{units}>\n", one.glyph));
            }
            lines.push_str("endbfchar\n");
        }
        format!(
            "/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n\
             /CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def\n\
             /CMapName /Adobe-Identity-UCS def /CMapType 2 def\n\
             1 begincodespacerange <0000> <ffff> endcodespacerange\n\
             {lines}endcmap CMapName currentdict /CMap defineresource pop end end\n"
        )
    }

    pub(super) fn measures(&self) -> Measures {
        let of = |units: i16| self.thousandths(f64::from(units));
        let bounds = self.face.global_bounding_box();
        Measures {
            ascent: of(self.face.ascender()),
            descent: of(self.face.descender()),
            bounds: [bounds.x_min, bounds.y_min, bounds.x_max, bounds.y_max].map(of),
        }
    }

    /// Returns the number of a letter's glyph among the embedded ones. Adds the letter if it is
    /// new.
    fn number(&mut self, letter: char) -> u16 {
        if let Some(known) = self.used.iter().find(|one| one.letter == letter) {
            return known.glyph;
        }
        let glyph = self.glyph(letter);
        let number = self.numbers.remap(glyph.0);
        // If two characters share a glyph, copied text contains the first of them.
        if !self.used.iter().any(|one| one.glyph == number) {
            self.used.push(Letter { letter, glyph: number, width: self.advance(glyph) });
        }
        number
    }

    fn glyph(&self, letter: char) -> GlyphId {
        let known = self.face.glyph_index(letter);
        known.or_else(|| self.face.glyph_index(REPLACEMENT)).unwrap_or_default()
    }

    /// Returns the width of a glyph in thousandths of the font size.
    fn advance(&self, glyph: GlyphId) -> f64 {
        self.thousandths(f64::from(self.face.glyph_hor_advance(glyph).unwrap_or_default()))
    }

    fn thousandths(&self, units: f64) -> f64 {
        units * 1000.0 / f64::from(self.face.units_per_em().max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_as_wide_as_their_letters() {
        let letters = Letters::new().expect("a font");
        let sum: f64 = ["W", "i", "."].iter().map(|letter| letters.width(letter)).sum();
        assert!((letters.width("Wi.") - sum).abs() < 1e-9);
        assert!(letters.width("W") > 2.0 * letters.width("i"));
    }

    /// Checks letters beyond ASCII that reports use in figures: units, powers of two, mathematical
    /// signs, arrows.
    #[test]
    fn the_font_has_what_reports_write() {
        let letters = Letters::new().expect("a font");
        for letter in "µμ±×÷·–—…‘’“”•⁰¹²³⁴⁵⁶⁷⁸⁹⁻₀₁₂≤≥≈≠∞→←↑↓†‡✓✗αβγδΔλσΩéüßñłšЖ€".chars()
        {
            assert!(letters.face.glyph_index(letter).is_some(), "{letter}");
        }
    }

    #[test]
    fn a_figure_holds_its_letters_only() {
        let mut letters = Letters::new().expect("a font");
        let first = letters.encoded("2²⁰");
        assert_eq!((first.len(), letters.encoded("2²⁰")), (12, first));
        let part = letters.file().expect("a part");
        assert!(part.len() < FILE.len() / 4, "{} bytes", part.len());
        let face = Face::parse(&part, 0).expect("a font");
        assert_eq!(face.number_of_glyphs(), 4, "and the glyph of no letter");
        assert!(letters.map().contains("<0002> <00b2>"), "{}", letters.map());
    }

    #[test]
    fn a_letter_that_the_font_lacks_is_seen_to_be_missing() {
        let mut letters = Letters::new().expect("a font");
        assert_eq!(letters.encoded("字"), letters.encoded("\u{fffd}"));
    }
}
