//! Figures of a page: the drawing, its caption, and the table of its data.

use super::table::{Cell, Column, Table};
use crate::format::{cut, figure, mean_and_interval};
use crate::plot::{Forest, Graph, HeatMap, Line, Plot, Width};
use crate::value::Spread;

/// A figure of a report page: a drawing with its caption and the table of its data.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Figure {
    /// The drawing of the figure.
    pub graphic: Graphic,
    /// A remark in the caption besides the title, such as a definition or the number of the trial.
    pub remark: String,
    /// The kind of table that shows the data of the figure below it.
    pub data: Data,
}

/// The drawing of a figure.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum Graphic {
    /// Lines over a horizontal and a vertical axis.
    Plot(Plot),
    /// A heat map: a table in which larger values have a darker cell.
    HeatMap(HeatMap),
    /// Boxes joined by paths, such as servers and flows.
    Graph(Graph),
    /// A list of differences with their intervals.
    Forest(Forest),
}

/// The kind of table that shows the data of a figure below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Data {
    /// The table has all points: a row for each horizontal value, and a column for each line.
    Points,
    /// The table has only the smallest, mean and largest value of each line, because lines are
    /// long.
    Extremes,
    /// There is no table below the figure, because another table of the page has the data.
    Elsewhere,
}

impl Figure {
    /// Returns a figure with a plot and a table of all its points. `remark` is added to the
    /// caption.
    pub fn plot(plot: Plot, remark: impl Into<String>) -> Self {
        Self { graphic: Graphic::Plot(plot), remark: remark.into(), data: Data::Points }
    }

    /// Returns a figure with a heat map and a table of all its cells. `remark` is added to the
    /// caption.
    pub fn heat_map(map: HeatMap, remark: impl Into<String>) -> Self {
        Self { graphic: Graphic::HeatMap(map), remark: remark.into(), data: Data::Points }
    }

    /// Returns a figure with a graph but without a table; another table of the page describes its
    /// boxes. `remark` is added to the caption.
    pub fn graph(graph: Graph, remark: impl Into<String>) -> Self {
        Self { graphic: Graphic::Graph(graph), remark: remark.into(), data: Data::Elsewhere }
    }

    /// Returns the figure with another kind of table of its data.
    #[must_use]
    pub fn with_data(self, data: Data) -> Self {
        Self { data, ..self }
    }

    /// Returns whether the figure has nothing to draw.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match &self.graphic {
            Graphic::Plot(plot) => plot.is_empty(),
            Graphic::HeatMap(map) => map.is_empty(),
            Graphic::Graph(graph) => graph.is_empty(),
            Graphic::Forest(forest) => forest.is_empty(),
        }
    }

    /// Returns the figure with its remark and, for a plot, its title, description and axis labels
    /// replaced by the results of the function `words`. Other texts are unchanged.
    pub(crate) fn reworded(mut self, words: impl Fn(&str) -> String) -> Self {
        let say = |text: &mut String| *text = words(text);
        say(&mut self.remark);
        if let Graphic::Plot(plot) = &mut self.graphic {
            let texts =
                [&mut plot.title, &mut plot.description, &mut plot.x.label, &mut plot.y.label];
            texts.into_iter().for_each(say);
        }
        self
    }

    /// Returns the table of the figure's data that stands below it.
    pub(super) fn data_table(&self) -> Table {
        match (&self.graphic, self.data) {
            (_, Data::Elsewhere) | (Graphic::Graph(_), _) => Table::default(),
            (Graphic::Plot(plot), Data::Points) => points(plot),
            (Graphic::Plot(plot), Data::Extremes) => extremes(plot),
            (Graphic::HeatMap(map), _) => cells(map),
            (Graphic::Forest(forest), _) => differences(forest),
        }
    }
}

impl Graphic {
    /// Returns whether the drawing needs the whole width of the page rather than half of it.
    pub(super) fn is_wide(&self) -> bool {
        /// The largest number of boxes of a graph for which half of the width suffices.
        const FEW: usize = 6;
        matches!(self, Self::Graph(graph) if graph.nodes.len() > FEW)
    }

    pub(super) fn title(&self) -> &str {
        match self {
            Self::Plot(plot) => &plot.title,
            Self::HeatMap(map) => &map.title,
            Self::Graph(graph) => &graph.title,
            Self::Forest(forest) => &forest.title,
        }
    }

    pub(super) fn svg(&self, id: &str) -> String {
        self.svg_at(id, Width::PAGE)
    }

    /// Returns the drawing as SVG in the given width. `id` must be unique in the page.
    pub(super) fn svg_at(&self, id: &str, width: Width) -> String {
        match self {
            Self::Plot(plot) => plot.svg_at(id, width),
            Self::HeatMap(map) => map.svg_at(id, width),
            Self::Graph(graph) => graph.svg_at(id, width),
            Self::Forest(forest) => forest.svg_at(id, width),
        }
    }
}

/// Returns the table of a forest plot's data, with a row of words for each difference.
fn differences(forest: &Forest) -> Table {
    let mut table = Table::new(&forest.title, ["", "figures and difference"].map(Column::words));
    for row in &forest.rows {
        table.row([row.name.clone(), row.words.clone()]);
    }
    table
}

/// Returns the lines of a plot that show data, without those that only guide the eye.
fn lines(plot: &Plot) -> impl Iterator<Item = &Line> {
    plot.lines.iter().filter(|line| !line.style.is_guide())
}

fn points(plot: &Plot) -> Table {
    let lines: Vec<&Line> = lines(plot).collect();
    let mut across: Vec<f64> = lines.iter().flat_map(|l| l.points.iter().map(|p| p.x)).collect();
    across.sort_by(f64::total_cmp);
    across.dedup();
    let heads = lines.iter().map(|line| Column::figures(&line.name));
    let heads = std::iter::once(Column::words(&plot.x.label)).chain(heads);
    let mut table = Table::new(&plot.title, heads);
    for x in across {
        let cells = lines.iter().map(|line| {
            match line.points.iter().find(|p| p.x == x && p.y.is_finite()) {
                None => "–".to_owned(),
                Some(point) => match point.spread {
                    Spread::Confidence(half) => {
                        let (mean, half, suffix) = mean_and_interval(point.y, half, plot.y.unit);
                        format!("{mean} ± {half} {suffix}")
                    }
                    Spread::Cut { half, low, high } | Spread::Untold { half, low, high } => {
                        cut(point.y, half, low, high, plot.y.unit)
                    }
                    _ => figure(point.y, plot.y.unit),
                },
            }
        });
        table.row(std::iter::once(plot.x.value(x)).chain(cells));
    }
    table
}

fn extremes(plot: &Plot) -> Table {
    let names = ["least", "mean", "greatest", "values"].map(Column::figures);
    let columns = std::iter::once(Column::words("line")).chain(names);
    let mut table = Table::new(&plot.title, columns);
    for line in lines(plot).filter(|line| !line.name.is_empty()) {
        let values: Vec<f64> = line.points.iter().map(|p| p.y).filter(|y| y.is_finite()).collect();
        let Some(mean) = statistics::mean(&values) else { continue };
        let (least, most) = crate::describe::range(values.iter().copied());
        let figures = [least, mean, most].map(|value| figure(value, plot.y.unit));
        let count = values.len().to_string();
        table.row(std::iter::once(line.name.clone()).chain(figures).chain([count]));
    }
    table
}

fn cells(map: &HeatMap) -> Table {
    let columns = map.columns.iter().map(Column::figures);
    let first = Column::words(format!("{} \\ {}", map.row_title, map.column_title));
    let mut table = Table::new(&map.title, std::iter::once(first).chain(columns));
    for (row, name) in map.rows.iter().enumerate() {
        let texts = map.columns.iter().enumerate().map(|(column, _)| {
            let cell = map.cell(row, column);
            Cell::from(cell.map_or_else(|| "–".to_owned(), |cell| cell.text.clone()))
        });
        table.row(std::iter::once(Cell::from(name.clone())).chain(texts));
    }
    table
}
