//! Heat maps: tables in which larger values have a darker cell. Each cell also shows its value, so
//! that no reader depends on the colour.

use super::frame::{LETTER, LINE};
use super::{Unit, Width};
use crate::format::figure;
use crate::page::escape;
use crate::put::put;
use crate::terminal::wrap;

/// The opacity of the colour of the largest value, at which the text in the cell remains readable.
pub(super) const DEEPEST: f64 = 0.6;
/// The height of a row of cells, in pixels.
const ROW: f64 = 24.0;
/// The smallest width of a column, in pixels, in which cells show their values, if necessary
/// rotated.
const UPRIGHT: f64 = 14.0;
/// The largest share of a drawing's width that the names of rows may take.
const NAMES: f64 = 0.4;

/// A heat map: a table in which larger values have a darker cell.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct HeatMap {
    /// The title of the heat map.
    pub title: String,
    /// A description in a sentence or two, for those who cannot see the map.
    pub description: String,
    /// The noun for what a row stands for, such as `match`.
    pub row_title: String,
    /// The names of the heat map's rows, from the top.
    pub rows: Vec<String>,
    /// The noun for what a column stands for, such as `action`.
    pub column_title: String,
    /// The names of the heat map's columns, from the left.
    pub columns: Vec<String>,
    /// The noun for the values in cells.
    pub value_title: String,
    /// The unit of the values.
    pub unit: Unit,
    /// The word for cells without colour in the legend, such as `training`.
    pub set_off: String,
    /// The cells of the heat map, row by row, or `None` for cells that were not measured.
    pub cells: Vec<Option<HeatCell>>,
}

/// A cell of a heat map.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct HeatCell {
    /// The value that the colour of the cell shows. It is never negative.
    pub value: f64,
    /// The text that the cell shows.
    pub text: String,
    /// The tool tip of the cell.
    pub tip: String,
    /// Whether the cell is drawn without colour, because its value cannot be compared with those of
    /// the other cells.
    pub set_off: bool,
}

impl HeatMap {
    /// Returns the cell in this row and column, or `None` if it was not measured.
    #[must_use]
    pub fn cell(&self, row: usize, column: usize) -> Option<&HeatCell> {
        self.cells.get(row * self.columns.len() + column)?.as_ref()
    }

    /// Returns whether the heat map has nothing to draw.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cells.iter().all(Option::is_none)
    }

    /// Returns the heat map as SVG in the given width. `id` must be unique in the page and a valid
    /// identifier. Letters have the same size at every width. In narrow columns, the values are
    /// rotated. In columns narrower than [`UPRIGHT`], they are omitted and a remark says so.
    pub(crate) fn svg_at(&self, id: &str, width: Width) -> String {
        let edge = width.pixels();
        let grid = Grid::of(self, edge);
        let legend = self.legend(grid.left, edge);
        let across = longest(&self.columns) as f64 * LETTER;
        let rotated = across + 6.0 > grid.column;
        let head = 44.0 + (legend.rows - 1.0) * LINE;
        let top = head + 12.0 + if rotated { across } else { 12.0 };
        let height =
            top + self.rows.len() as f64 * grid.row + 8.0 + grid.remarks.len() as f64 * LINE;
        let mut svg = String::with_capacity(4096);
        put!(
            svg,
            "<svg class=\"plot\" viewBox=\"0 0 {edge} {height}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\" \
             xmlns=\"http://www.w3.org/2000/svg\"><title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>",
            escape(&self.title),
            escape(&self.description),
        );
        svg.push_str(&legend.svg);
        let bottom = top + self.rows.len() as f64 * grid.row;
        put!(
            svg,
            "<text class=\"label\" x=\"{:.1}\" y=\"{head}\" text-anchor=\"middle\">{}</text>\
             <text class=\"label\" transform=\"translate(15 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>\
             <g class=\"tick\">",
            (grid.left + edge) / 2.0,
            escape(&self.column_title),
            (top + bottom) / 2.0,
            escape(&self.row_title),
        );
        for (column, name) in self.columns.iter().enumerate() {
            let x = grid.left + (column as f64 + 0.5) * grid.column;
            text(
                &mut svg,
                TextPosition {
                    x,
                    y: top - 6.0,
                    rotated,
                    anchor: if rotated { "start" } else { "middle" },
                },
                name,
            );
        }
        for (row, lines) in grid.names.iter().enumerate() {
            let first =
                top + (row as f64 + 0.5) * grid.row + 4.0 - (lines.len() - 1) as f64 * LINE / 2.0;
            for (number, line) in lines.iter().enumerate() {
                let y = first + number as f64 * LINE;
                text(
                    &mut svg,
                    TextPosition { x: grid.left - 6.0, y, rotated: false, anchor: "end" },
                    line,
                );
            }
        }
        svg.push_str("</g>");
        let most = self.colours().fold(0.0, f64::max);
        for (place, cell) in self.cells.iter().enumerate() {
            let (row, column) = (place / self.columns.len(), place % self.columns.len());
            let (x, y) = (grid.left + column as f64 * grid.column, top + row as f64 * grid.row);
            draw(
                &mut svg,
                cell.as_ref(),
                Square { x, y, width: grid.column, height: grid.row },
                grid.cells,
                most,
            );
        }
        for (number, remark) in grid.remarks.iter().enumerate() {
            let y = bottom + 16.0 + number as f64 * LINE;
            text(&mut svg, TextPosition { x: 4.0, y, rotated: false, anchor: "start" }, remark);
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// Returns the values of the cells that have a colour.
    fn colours(&self) -> impl Iterator<Item = f64> {
        self.cells.iter().flatten().filter(|cell| !cell.set_off).map(|cell| cell.value)
    }

    /// Draws the legend. It shows the colour of the largest value, the colour of half of that
    /// value, and a cell without colour.
    fn legend(&self, left: f64, edge: f64) -> Legend {
        let most = self.colours().fold(0.0, f64::max);
        let mut legend = Legend { svg: "<g class=\"legend\">".to_owned(), rows: 1.0 };
        // A narrow drawing has no space to spare next to the names of rows.
        let first = if edge < Width::PAGE.pixels() { 4.0 } else { left };
        let mut x = first;
        let mut entry = |depth: f64, text: &str| {
            let width = 22.0 + text.chars().count() as f64 * LETTER;
            if x > first && x + width > edge {
                (x, legend.rows) = (first, legend.rows + 1.0);
            }
            let y = 4.0 + (legend.rows - 1.0) * LINE;
            square(&mut legend.svg, Square { x, y, width: 16.0, height: 14.0 }, depth);
            put!(
                legend.svg,
                "<text x=\"{:.1}\" y=\"{:.0}\">{}</text>",
                x + 22.0,
                y + 12.0,
                escape(text)
            );
            x += width + 16.0;
        };
        entry(DEEPEST, &format!("{}: {}", self.value_title, figure(most, self.unit)));
        entry(DEEPEST / 2.0, &figure(most / 2.0, self.unit));
        if self.cells.iter().flatten().any(|cell| cell.set_off) {
            entry(0.0, &self.set_off);
        }
        legend.svg.push_str("</g>");
        legend
    }
}

/// The legend of a heat map as SVG, with its number of rows.
struct Legend {
    svg: String,
    rows: f64,
}

/// The sizes and texts of a heat map.
struct Grid {
    /// The x coordinate of the left edge of the cells.
    left: f64,
    /// The width of each column.
    column: f64,
    /// The height of each row.
    row: f64,
    cells: Cells,
    /// The names of the rows, wrapped into lines.
    names: Vec<Vec<String>>,
    /// The remarks below the map, wrapped into lines.
    remarks: Vec<String>,
}

/// The orientation of the values in cells.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cells {
    Level,
    Upright,
    /// Cells show no values because they are too narrow.
    Silent,
}

impl Grid {
    fn of(map: &HeatMap, edge: f64) -> Self {
        let room = (edge * NAMES / LETTER) as usize;
        let names: Vec<Vec<String>> = map.rows.iter().map(|name| wrap(name, room)).collect();
        let widest = names.iter().map(|lines| longest(lines)).max().unwrap_or(0);
        let left = 40.0 + widest as f64 * LETTER;
        let column = (edge - left - 8.0) / map.columns.len().max(1) as f64;
        let texts = map.cells.iter().flatten().map(|cell| cell.text.chars().count());
        let text = texts.max().unwrap_or(0) as f64 * LETTER;
        let cells = match column {
            column if column >= text => Cells::Level,
            column if column >= UPRIGHT => Cells::Upright,
            _ => Cells::Silent,
        };
        let lines = names.iter().map(Vec::len).max().unwrap_or(1);
        let row = match cells {
            Cells::Upright => text + 8.0,
            Cells::Level | Cells::Silent => ROW,
        };
        let remarks = match cells {
            Cells::Silent => wrap(SILENT, (edge / LETTER) as usize),
            Cells::Level | Cells::Upright => Vec::new(),
        };
        Self { left, column, row: row.max(lines as f64 * LINE + 6.0), cells, names, remarks }
    }
}

/// The remark below a map whose cells are too narrow for their values.
const SILENT: &str = "Too narrow for the values of its cells; see the data of the figure.";

fn longest(names: &[String]) -> usize {
    names.iter().map(|name| name.chars().count()).max().unwrap_or(0)
}

/// The position and orientation of a text in a heat map.
#[derive(Clone, Copy)]
struct TextPosition {
    x: f64,
    y: f64,
    rotated: bool,
    anchor: &'static str,
}

fn text(svg: &mut String, at: TextPosition, text: &str) {
    let TextPosition { x, y, rotated, anchor } = at;
    let text = escape(text);
    match rotated {
        true => put!(
            svg,
            "<text transform=\"translate({:.1} {y:.1}) rotate(-90)\" text-anchor=\"{anchor}\">{text}</text>",
            x + 4.0
        ),
        false => {
            put!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>")
        }
    }
}

/// The rectangle of one cell.
#[derive(Clone, Copy)]
pub(super) struct Square {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

fn draw(svg: &mut String, cell: Option<&HeatCell>, place: Square, cells: Cells, most: f64) {
    let depth = match cell {
        Some(cell) if !cell.set_off && most > 0.0 => DEEPEST * cell.value / most,
        _ => 0.0,
    };
    let (shown, tip) = cell.map_or(("–", "not measured"), |cell| (&cell.text, &cell.tip));
    put!(svg, "<g><title>{}</title>", escape(tip));
    square(svg, place, depth);
    let (x, y) = (place.x + place.width / 2.0, place.y + place.height / 2.0);
    match cells {
        Cells::Level => {
            text(svg, TextPosition { x, y: y + 4.0, rotated: false, anchor: "middle" }, shown)
        }
        Cells::Upright => text(svg, TextPosition { x, y, rotated: true, anchor: "middle" }, shown),
        Cells::Silent => {}
    }
    svg.push_str("</g>");
}

pub(super) fn square(svg: &mut String, place: Square, depth: f64) {
    let Square { x, y, width, height } = place;
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
        let svg = map.svg_at("m", Width::PAGE);
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
