//! Writes a drawing as a PDF file of one page, for papers.
//!
//! The file has only vectors and text: a page with a content stream, a font with the letters of the
//! figure (PDF 1.7, ISO 32000-1, 9.7.4), and a graphics state for each opacity. This crate writes
//! the file itself, because crates that convert SVG to PDF depend on a renderer, a font database
//! and a text shaper, whereas these figures need only a few operators.

use std::fmt::Write as _;

use super::drawing::{Drawing, DrawingError, Item, Look, PAGE, Segment, Text};
use super::font::Letters;

/// The number of PDF points per pixel: an inch is 96 pixels and 72 points.
const SCALE: f64 = 0.75;
/// The distance of the control points of a Bézier curve that approximates a quarter circle, as a
/// share of the circle's radius.
const KAPPA: f64 = 0.552_284_749_8;

impl Drawing {
    /// Returns the drawing as the bytes of a PDF file.
    pub(crate) fn pdf(&self) -> Result<Vec<u8>, DrawingError> {
        let mut content = Content::new(Letters::new()?);
        // The y axis of drawings points downwards.
        let _ = writeln!(content.text, "{SCALE} 0 0 -{SCALE} 0 {:.2} cm", self.height * SCALE);
        for item in &self.items {
            match item {
                Item::Path { segments, look } => content.path(segments, look),
                Item::Text(text) => content.text(text),
                Item::Clip([x, y, width, height]) => {
                    let _ = writeln!(content.text, "q {x:.2} {y:.2} {width:.2} {height:.2} re W n");
                }
                Item::Unclip => content.text.push_str("Q\n"),
            }
        }
        let states: String = content
            .opacities
            .iter()
            .enumerate()
            .map(|(number, (fill, stroke))| {
                format!("/G{number} << /ca {fill:.2} /CA {stroke:.2} >> ")
            })
            .collect();
        let page = [
            "<< /Type /Catalog /Pages 2 0 R >>".into(),
            "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".into(),
            format!(
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {:.2} {:.2}] /Contents 4 0 R \
                 /Resources << /Font << /F 5 0 R >> /ExtGState << {states}>> >> >>",
                self.width * SCALE,
                self.height * SCALE
            )
            .into(),
            stream(content.text.as_bytes()),
        ];
        let about = format!("<< /Title <{}> /Producer (Planimeter) >>", unicode(&self.title));
        let font = font(&content.letters)?;
        Ok(file(&page.into_iter().chain(font).chain([about.into()]).collect::<Vec<_>>()))
    }
}

/// An object of the PDF file.
struct Object(Vec<u8>);

impl From<&str> for Object {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<String> for Object {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

fn stream(bytes: &[u8]) -> Object {
    let mut out = format!("<< /Length {} >>\nstream\n", bytes.len()).into_bytes();
    out.extend(bytes);
    out.extend(b"endstream");
    Object(out)
}

/// The name of the embedded font. The prefix of six letters marks a subset of a font.
const FONT: &str = "PLANIM+DejaVuSansCondensed";

/// Returns the objects of the PDF file that embed the font, starting with object 5: the font, its
/// metrics, its file, and the map from glyphs to text.
fn font(letters: &Letters) -> Result<[Object; 5], DrawingError> {
    let measures = letters.measures();
    let bounds = measures.bounds.map(|side| format!("{side:.0}")).join(" ");
    Ok([
        format!(
            "<< /Type /Font /Subtype /Type0 /BaseFont /{FONT} /Encoding /Identity-H /DescendantFonts [6 0 R] \
             /ToUnicode 9 0 R >>"
        )
        .into(),
        format!(
            "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /{FONT} /CIDToGIDMap /Identity /FontDescriptor 7 0 R \
             /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /W [{}] >>",
            letters.widths()
        )
        .into(),
        // Flag 3 (symbolic) means that the font has letters outside of the standard Latin set.
        format!(
            "<< /Type /FontDescriptor /FontName /{FONT} /Flags 4 /FontBBox [{bounds}] /ItalicAngle 0 /Ascent {:.0} \
             /Descent {:.0} /CapHeight {:.0} /StemV 80 /FontFile2 8 0 R >>",
            measures.ascent, measures.descent, measures.ascent
        )
        .into(),
        stream(&letters.file()?),
        stream(letters.map().as_bytes()),
    ])
}

/// Assembles the PDF file: header, objects, their offsets, and the trailer (ISO 32000-1, 7.5).
fn file(objects: &[Object]) -> Vec<u8> {
    let mut out = b"%PDF-1.7\n".to_vec();
    let mut places = Vec::new();
    for (number, Object(object)) in (1..).zip(objects) {
        places.push(out.len());
        out.extend(format!("{number} 0 obj\n").into_bytes());
        out.extend(object);
        out.extend(b"\nendobj\n");
    }
    let table = out.len();
    let mut end = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for place in places {
        let _ = writeln!(end, "{place:010} 00000 n ");
    }
    let _ = write!(
        end,
        "trailer\n<< /Size {} /Root 1 0 R /Info {} 0 R >>\nstartxref\n{table}\n%%EOF\n",
        objects.len() + 1,
        objects.len()
    );
    out.extend(end.into_bytes());
    out
}

/// The content stream of the PDF page.
struct Content {
    /// The operators that draw the page, in ASCII.
    text: String,
    /// The different pairs of opacities, of fill and stroke, that shapes have.
    opacities: Vec<(f64, f64)>,
    letters: Letters,
}

impl Content {
    fn new(letters: Letters) -> Self {
        Self { text: String::new(), opacities: Vec::new(), letters }
    }

    fn path(&mut self, segments: &[Segment], look: &Look) {
        if segments.is_empty() {
            return;
        }
        self.text.push_str("q ");
        if let Some(colour) = look.fill {
            let _ = write!(self.text, "{} rg ", components(colour));
        }
        if let Some(colour) = look.stroke {
            let _ = write!(self.text, "{} RG {} w ", components(colour), look.width);
            self.text.push_str(if look.round_ends { "1 J " } else { "1 j " });
        }
        if !look.dash.is_empty() {
            let lengths: Vec<String> = look.dash.iter().map(f64::to_string).collect();
            let _ = write!(self.text, "[{}] 0 d ", lengths.join(" "));
        }
        if (look.fill_opacity, look.stroke_opacity) != (1.0, 1.0) {
            let state = self.state(look.fill_opacity, look.stroke_opacity);
            let _ = write!(self.text, "/G{state} gs ");
        }
        let mut at = (0.0, 0.0);
        for segment in segments {
            match *segment {
                Segment::Move(x, y) => {
                    let _ = write!(self.text, "{x:.2} {y:.2} m ");
                    at = (x, y);
                }
                Segment::Line(x, y) => {
                    let _ = write!(self.text, "{x:.2} {y:.2} l ");
                    at = (x, y);
                }
                Segment::HalfCircle(x, y) => {
                    self.half_circle(at, (x, y));
                    at = (x, y);
                }
                Segment::Close => self.text.push_str("h "),
            }
        }
        self.text.push_str(match (look.fill, look.stroke) {
            (Some(_), Some(_)) => "B Q\n",
            (Some(_), None) => "f Q\n",
            (None, Some(_)) => "S Q\n",
            (None, None) => "n Q\n",
        });
    }

    /// Appends a half circle as two quarter circles, anticlockwise as a reader sees it.
    fn half_circle(&mut self, from: (f64, f64), to: (f64, f64)) {
        let centre = ((from.0 + to.0) / 2.0, (from.1 + to.1) / 2.0);
        let out = (from.0 - centre.0, from.1 - centre.1);
        // Since y grows downwards, this vector is a quarter turn anticlockwise.
        let side = (out.1, -out.0);
        let at = |along: f64, across: f64| {
            (centre.0 + along * out.0 + across * side.0, centre.1 + along * out.1 + across * side.1)
        };
        let quarters = [
            [at(1.0, KAPPA), at(KAPPA, 1.0), at(0.0, 1.0)],
            [at(-KAPPA, 1.0), at(-1.0, KAPPA), to],
        ];
        for [a, b, end] in quarters {
            let _ = write!(
                self.text,
                "{:.2} {:.2} {:.2} {:.2} {:.2} {:.2} c ",
                a.0, a.1, b.0, b.1, end.0, end.1
            );
        }
    }

    fn text(&mut self, text: &Text) {
        let before = self.letters.width(&text.text) * text.size * text.anchor;
        let (x, y) = text.at;
        // The matrix undoes the flip of the page, or turns the text by a quarter to the left.
        let matrix = match text.upwards {
            false => format!("1 0 0 -1 {:.2} {y:.2}", x - before),
            true => format!("0 -1 -1 0 {x:.2} {:.2}", y + before),
        };
        let shown = self.letters.encoded(&text.text);
        let show = |operators: &str, out: &mut String| {
            let _ =
                writeln!(out, "q BT {operators} /F {} Tf {matrix} Tm <{shown}> Tj ET Q", text.size);
        };
        if text.rim {
            let rim = format!("{} RG 4 w 1 j 1 Tr", components(PAGE));
            show(&rim, &mut self.text);
        }
        show(&format!("{} rg 0 Tr", components(text.colour)), &mut self.text);
    }

    fn state(&mut self, fill: f64, stroke: f64) -> usize {
        let known = self.opacities.iter().position(|known| *known == (fill, stroke));
        known.unwrap_or_else(|| {
            self.opacities.push((fill, stroke));
            self.opacities.len() - 1
        })
    }
}

/// Returns the red, green and blue components of a colour `#rrggbb`, each from 0 to 1, as PDF
/// operands.
fn components(colour: &str) -> String {
    let part = |from: usize| {
        let digits = colour.get(from..from + 2).unwrap_or_default();
        f64::from(u8::from_str_radix(digits, 16).unwrap_or_default()) / 255.0
    };
    format!("{:.3} {:.3} {:.3}", part(1), part(3), part(5))
}

/// Encodes a text for the information dictionary of the file, as the content of a hexadecimal
/// string: UTF-16 with a byte order mark (ISO 32000-1, 7.9.2.2).
fn unicode(text: &str) -> String {
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    units.map(|unit| format!("{unit:04x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawing() -> Drawing {
        let look = Look {
            stroke: Some("#ff0000"),
            fill_opacity: 1.0,
            stroke_opacity: 0.5,
            width: 2.0,
            ..Look::default()
        };
        let text = Text {
            text: "2²⁰ µs →".to_owned(),
            at: (10.0, 20.0),
            anchor: 0.0,
            upwards: false,
            size: 12.0,
            colour: "#000000",
            rim: true,
        };
        Drawing {
            width: 640.0,
            height: 320.0,
            title: "A (title)".to_owned(),
            items: vec![
                Item::Clip([0.0, 0.0, 5.0, 5.0]),
                Item::Path {
                    segments: vec![Segment::Move(1.0, 2.0), Segment::Line(3.0, 4.0)],
                    look,
                },
                Item::Unclip,
                Item::Text(text),
            ],
        }
    }

    fn bytes() -> Vec<u8> {
        drawing().pdf().expect("a file")
    }

    /// Checks the offsets of objects and the length of the content, on which readers rely.
    #[test]
    fn objects_are_where_the_file_says() {
        let bytes = bytes();
        let text = String::from_utf8_lossy(&bytes);
        let start: usize = text
            .rsplit("startxref\n")
            .next()
            .and_then(|end| end.lines().next()?.parse().ok())
            .expect("a place");
        let table = String::from_utf8_lossy(&bytes[start..]);
        let rows: Vec<&str> = table.lines().skip(3).take(10).collect();
        for (number, row) in (1..).zip(rows) {
            assert_eq!(row.len() + 1, 20, "{row}");
            let place: usize = row[..10].parse().expect("a number");
            assert!(bytes[place..].starts_with(format!("{number} 0 obj\n").as_bytes()), "{number}");
        }
        let stream = text.split("\nstream\n").nth(1).expect("a stream");
        let end = stream.find("endstream\n").expect("its end");
        let length = format!("/Length {end} ");
        assert!(text.contains(&length), "{length}");
        assert!(text.contains("/MediaBox [0 0 480.00 240.00]"));
    }

    #[test]
    fn shapes_and_text_are_drawn() {
        let bytes = bytes();
        let text = String::from_utf8_lossy(&bytes);
        let line = "q 1.000 0.000 0.000 RG 2 w 1 j /G0 gs 1.00 2.00 m 3.00 4.00 l S Q\n";
        assert!(text.contains(line), "{text}");
        assert!(text.contains("/G0 << /ca 1.00 /CA 0.50 >>"));
        let letters = "<00010002000300040005000600040007> Tj";
        assert_eq!(text.matches(letters).count(), 2, "rim and letters: {text}");
        assert!(text.contains("<0003> <2070>") && text.contains("<0007> <2192>"), "{text}");
    }

    #[test]
    fn a_circle_is_round() {
        let mut content = Content::new(Letters::new().expect("a font"));
        content.half_circle((0.0, 0.0), (8.0, 0.0));
        // Anticlockwise as seen, from the left: over the bottom.
        assert_eq!(
            content.text,
            "0.00 2.21 1.79 4.00 4.00 4.00 c 6.21 4.00 8.00 2.21 8.00 0.00 c "
        );
    }
}
