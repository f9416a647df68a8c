//! Writes a drawing as an SVG file that needs no style sheet, because every shape states its own
//! appearance.

use super::drawing::{Drawing, Item, Look, PAGE, Segment, Text};
use crate::page::escape;
use crate::put::put;

impl Drawing {
    /// Returns the drawing as the text of an SVG file.
    pub(crate) fn svg(&self) -> String {
        let (width, height) = (self.width, self.height);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"Helvetica, Arial, sans-serif\" \
             fill=\"none\" stroke-linejoin=\"round\"><title>{}</title>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"{PAGE}\"/>\n",
            escape(&self.title)
        );
        for item in &self.items {
            match item {
                Item::Path { segments, look } => path(&mut out, segments, look),
                Item::Text(text) => write_text(&mut out, text),
                Item::Clip([x, y, width, height]) => put!(
                    out,
                    "<clipPath id=\"c\"><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
                     height=\"{height:.1}\"/></clipPath>\n<g clip-path=\"url(#c)\">\n"
                ),
                Item::Unclip => out.push_str("</g>\n"),
            }
        }
        out + "</svg>\n"
    }
}

fn path(out: &mut String, segments: &[Segment], look: &Look) {
    out.push_str("<path d=\"");
    let mut at = (0.0, 0.0);
    for segment in segments {
        match *segment {
            Segment::Move(x, y) => {
                put!(out, "M{x:.1} {y:.1}");
                at = (x, y);
            }
            Segment::Line(x, y) => {
                put!(out, "L{x:.1} {y:.1}");
                at = (x, y);
            }
            Segment::HalfCircle(x, y) => {
                let radius = (x - at.0).hypot(y - at.1) / 2.0;
                put!(out, "A{radius:.2} {radius:.2} 0 1 0 {x:.1} {y:.1}");
                at = (x, y);
            }
            Segment::Close => out.push('Z'),
        }
    }
    out.push('"');
    if let Some(colour) = look.fill {
        put!(out, " fill=\"{colour}\"");
        if look.fill_opacity < 1.0 {
            put!(out, " fill-opacity=\"{}\"", look.fill_opacity);
        }
    }
    if let Some(colour) = look.stroke {
        put!(out, " stroke=\"{colour}\" stroke-width=\"{}\"", look.width);
        if look.stroke_opacity < 1.0 {
            put!(out, " stroke-opacity=\"{}\"", look.stroke_opacity);
        }
        if look.round_ends {
            out.push_str(" stroke-linecap=\"round\"");
        }
        if !look.dash.is_empty() {
            let lengths: Vec<String> = look.dash.iter().map(f64::to_string).collect();
            put!(out, " stroke-dasharray=\"{}\"", lengths.join(" "));
        }
    }
    out.push_str("/>\n");
}

fn write_text(out: &mut String, text: &Text) {
    let (x, y) = text.at;
    let anchor = match text.anchor {
        anchor if anchor >= 1.0 => "end",
        anchor if anchor > 0.0 => "middle",
        _ => "start",
    };
    let place = match text.upwards {
        false => format!("x=\"{x:.1}\" y=\"{y:.1}\""),
        true => format!("transform=\"translate({x:.1} {y:.1}) rotate(-90)\""),
    };
    let (size, shown) = (text.size, escape(&text.text));
    // The text is written twice because few programs other than browsers support `paint-order`.
    if text.rim {
        put!(
            out,
            "<text {place} text-anchor=\"{anchor}\" font-size=\"{size}\" stroke=\"{PAGE}\" \
             stroke-width=\"4\">{shown}</text>\n"
        );
    }
    put!(
        out,
        "<text {place} text-anchor=\"{anchor}\" font-size=\"{size}\" fill=\"{}\">{shown}</text>\n",
        text.colour
    );
}
