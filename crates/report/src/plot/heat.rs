//! Heat maps: cells of a table, the deeper the larger their value. The value stands in each, so that no reader depends on
//! the colour.

use super::Unit;
use super::render::{LETTER, WIDTH};
use crate::format::figure;
use crate::page::escape;
use crate::put::put;

/// How much of the colour the largest value has: text stays readable on it.
pub(super) const DEEPEST: f64 = 0.6;
/// Height of a row.
const ROW: f64 = 24.0;

/// A heat map.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct HeatMap {
    /// What is shown.
    pub title: String,
    /// What is to be seen, in a sentence or two, for those who cannot see it.
    pub description: String,
    /// What the rows are, and their names.
    pub row_title: String,
    /// See [`row_title`](Self::row_title).
    pub rows: Vec<String>,
    /// What the columns are, and their names.
    pub column_title: String,
    /// See [`column_title`](Self::column_title).
    pub columns: Vec<String>,
    /// What the values are.
    pub value_title: String,
    /// Unit of the values.
    pub unit: Unit,
    /// What cells without colour are, such as `training`.
    pub set_off: String,
    /// Cells row by row; `None` where nothing was measured.
    pub cells: Vec<Option<HeatCell>>,
}

/// A cell of a heat map.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct HeatCell {
    /// Its value, not below zero.
    pub value: f64,
    /// What stands in it.
    pub text: String,
    /// What a pointer over it reads.
    pub tip: String,
    /// Whether it has no colour, because it is of another kind.
    pub set_off: bool,
}

impl HeatMap {
    /// The cell at a place.
    #[must_use]
    pub fn cell(&self, row: usize, column: usize) -> Option<&HeatCell> {
        self.cells.get(row * self.columns.len() + column)?.as_ref()
    }

    /// Whether there is nothing to draw.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cells.iter().all(Option::is_none)
    }

    /// The drawing. `id` must be unique in the page and a valid identifier.
    pub(crate) fn svg(&self, id: &str) -> String {
        let longest =
            |names: &[String]| names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let left = 40.0 + longest(&self.rows) as f64 * LETTER;
        let width = (WIDTH - left - 8.0) / self.columns.len().max(1) as f64;
        let across = longest(&self.columns) as f64 * LETTER;
        let upwards = across + 6.0 > width;
        let top = 56.0 + if upwards { across } else { 12.0 };
        let height = top + self.rows.len() as f64 * ROW + 8.0;
        let mut svg = String::with_capacity(4096);
        put!(
            svg,
            "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\" \
             xmlns=\"http://www.w3.org/2000/svg\"><title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>",
            escape(&self.title),
            escape(&self.description),
        );
        let most = self.colours().fold(0.0, f64::max);
        self.legend(&mut svg, left, most);
        put!(
            svg,
            "<text class=\"label\" x=\"{:.1}\" y=\"44\" text-anchor=\"middle\">{}</text>\
             <text class=\"label\" transform=\"translate(15 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>\
             <g class=\"tick\">",
            (left + WIDTH) / 2.0,
            escape(&self.column_title),
            (top + height) / 2.0,
            escape(&self.row_title),
        );
        for (column, name) in self.columns.iter().enumerate() {
            let x = left + (column as f64 + 0.5) * width;
            match upwards {
                true => put!(
                    svg,
                    "<text transform=\"translate({:.1} {:.1}) rotate(-90)\">{}</text>",
                    x + 4.0,
                    top - 6.0,
                    escape(name)
                ),
                false => put!(
                    svg,
                    "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                    top - 6.0,
                    escape(name)
                ),
            }
        }
        for (row, name) in self.rows.iter().enumerate() {
            let y = top + (row as f64 + 0.5) * ROW + 4.0;
            put!(
                svg,
                "<text x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"end\">{}</text>",
                left - 6.0,
                escape(name)
            );
        }
        svg.push_str("</g>");
        for (place, cell) in self.cells.iter().enumerate() {
            let (row, column) = (place / self.columns.len(), place % self.columns.len());
            let (x, y) = (left + column as f64 * width, top + row as f64 * ROW);
            draw(&mut svg, cell.as_ref(), (x, y, width), most);
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// Values that have a colour.
    fn colours(&self) -> impl Iterator<Item = f64> {
        self.cells.iter().flatten().filter(|cell| !cell.set_off).map(|cell| cell.value)
    }

    /// What the colours mean: none, half and the largest value.
    fn legend(&self, svg: &mut String, left: f64, most: f64) {
        svg.push_str("<g class=\"legend\">");
        let mut x = left;
        let mut entry = |depth: f64, text: &str| {
            square(svg, (x, 4.0, 16.0, 14.0), depth);
            put!(svg, "<text x=\"{:.1}\" y=\"16\">{}</text>", x + 22.0, escape(text));
            x += 22.0 + text.chars().count() as f64 * LETTER + 16.0;
        };
        entry(DEEPEST, &format!("{}: {}", self.value_title, figure(most, self.unit)));
        entry(DEEPEST / 2.0, &figure(most / 2.0, self.unit));
        if self.cells.iter().flatten().any(|cell| cell.set_off) {
            entry(0.0, &self.set_off);
        }
        svg.push_str("</g>");
    }
}

fn draw(svg: &mut String, cell: Option<&HeatCell>, (x, y, width): (f64, f64, f64), most: f64) {
    let depth = match cell {
        Some(cell) if !cell.set_off && most > 0.0 => DEEPEST * cell.value / most,
        _ => 0.0,
    };
    let (text, tip) = cell.map_or(("–", "not measured"), |cell| (&cell.text, &cell.tip));
    put!(svg, "<g><title>{}</title>", escape(tip));
    square(svg, (x, y, width, ROW), depth);
    let (x, y) = (x + width / 2.0, y + ROW / 2.0 + 4.0);
    put!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text></g>", escape(text));
}

pub(super) fn square(svg: &mut String, (x, y, width, height): (f64, f64, f64, f64), depth: f64) {
    put!(
        svg,
        "<g class=\"s0\"><rect class=\"cell\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
         fill-opacity=\"{depth:.2}\"/></g>\
         <path class=\"grid\" d=\"M{x:.1} {y:.1}h{width:.1}v{height:.1}h-{width:.1}z\"/>"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Drawing;

    #[test]
    fn a_map_has_a_square_for_each_cell_and_says_its_values() {
        let cell = |value: f64, set_off| {
            let (text, tip) = (format!("{value:.1}"), format!("it is {value}"));
            Some(HeatCell { value, text, tip, set_off })
        };
        let map = HeatMap {
            title: "Errors".to_owned(),
            description: String::new(),
            row_title: "match".to_owned(),
            rows: vec!["port".to_owned(), "<all>".to_owned()],
            column_title: "action".to_owned(),
            columns: vec![
                "output".to_owned(),
                "a name that is too long for its column to hold it all".to_owned(),
            ],
            value_title: "error".to_owned(),
            unit: Unit::Fraction,
            set_off: "training".to_owned(),
            cells: vec![cell(0.0, true), cell(0.5, false), cell(0.25, false), None],
        };
        let svg = map.svg("m");
        assert_eq!(svg.matches("class=\"cell\"").count(), 4 + 3);
        assert!(
            svg.contains("fill-opacity=\"0.60\"") && svg.contains("fill-opacity=\"0.30\""),
            "{svg}"
        );
        assert!(
            svg.contains("error: 50.0 %")
                && svg.contains("training")
                && svg.contains("&lt;all&gt;")
        );
        assert!(
            svg.contains("<title>it is 0.25</title>")
                && svg.contains("<title>not measured</title>")
        );
        let file = Drawing::read(&svg).expect("understood").svg();
        assert_eq!(file.matches("fill-opacity").count(), 7, "{file}");
        assert!(!file.contains("class="), "{file}");
        assert_eq!(map.cell(1, 0).map(|cell| cell.value), Some(0.25));
        assert!(map.cell(1, 1).is_none() && !map.is_empty());
    }
}
