//! A plot with its caption and its data as a table.

use probe::config::Load;

use super::escape;
use crate::format::{figure, mean_and_interval};
use crate::plot::{Drawing, DrawingError, Line, Plot};
use crate::put::put;

/// A figure of the report.
pub(crate) struct Figure {
    /// The plot.
    pub(crate) plot: Plot,
    /// What the reader should know beyond the title: whose definition, which trial.
    pub(crate) remark: String,
    /// Which table stands below.
    pub(crate) data: Data,
}

/// The table below a plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Data {
    /// Every point: a row per horizontal value, a column per line.
    Points,
    /// Least, mean and greatest value of each line, for lines too long to be read.
    Extremes,
    /// None, because a table beside says the same.
    Elsewhere,
}

/// Numbers figures through the page, and keeps what was drawn.
#[derive(Default)]
pub(crate) struct Numbering {
    load: Load,
    drawn: Vec<Drawn>,
}

/// A figure as it stands in the page.
pub(crate) struct Drawn {
    title: String,
    svg: String,
}

impl Numbering {
    /// Figures in the words for what the switches of a run send.
    pub(crate) fn of(load: Load) -> Self {
        Self { load, drawn: Vec::new() }
    }

    /// The figures of the page, in order.
    pub(crate) fn into_drawn(self) -> Vec<Drawn> {
        self.drawn
    }
}

impl Drawn {
    /// A name for files of the figure with that number, without an extension.
    pub(crate) fn file_name(&self, number: usize) -> String {
        let letters = self.title.chars().map(|c| match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() => c,
            _ => '-',
        });
        let words: String = letters.collect();
        let words: Vec<&str> = words.split('-').filter(|word| !word.is_empty()).collect();
        let mut name = format!("figure-{number:02}");
        for word in words {
            // Long titles say in their first words which figure it is.
            if name.len() + word.len() > LONGEST_NAME {
                break;
            }
            name.push('-');
            name.push_str(word);
        }
        name
    }

    /// The figure as shapes, to be written to files.
    pub(crate) fn drawing(&self) -> Result<Drawing, DrawingError> {
        Drawing::read(&self.svg)
    }
}

/// Characters of a file name, without its extension.
const LONGEST_NAME: usize = 80;

/// Figures side by side; those without data are left out. Nothing if none is left.
pub(crate) fn row(figures: Vec<Figure>, numbering: &mut Numbering) -> String {
    let mut out = String::new();
    for mut figure in figures.into_iter().filter(|figure| !figure.plot.is_empty()) {
        let load = numbering.load;
        let plot = &mut figure.plot;
        for text in [
            &mut plot.title,
            &mut plot.description,
            &mut plot.x.label,
            &mut plot.y.label,
            &mut figure.remark,
        ] {
            *text = load.words(text).into_owned();
        }
        let number = numbering.drawn.len() + 1;
        let svg = figure.plot.svg(&format!("f{number}"));
        put!(
            out,
            "<figure id=\"figure-{number}\"><figcaption><b>Figure {number}.</b> {}",
            escape(&figure.plot.title)
        );
        if !figure.remark.is_empty() {
            put!(out, " <span class=\"remark\">{}</span>", escape(&figure.remark));
        }
        put!(out, "</figcaption>\n{svg}");
        numbering.drawn.push(Drawn { title: figure.plot.title.clone(), svg });
        match figure.data {
            Data::Points => out.push_str(&points_table(&figure.plot, number)),
            Data::Extremes => out.push_str(&extremes_table(&figure.plot, number)),
            Data::Elsewhere => {}
        }
        out.push_str("</figure>\n");
    }
    if out.is_empty() { out } else { format!("<div class=\"figures\">\n{out}</div>\n") }
}

fn points_table(plot: &Plot, number: usize) -> String {
    let lines: Vec<&Line> = plot.lines.iter().filter(|line| !line.style.is_guide()).collect();
    let mut across: Vec<f64> = lines.iter().flat_map(|l| l.points.iter().map(|p| p.x)).collect();
    across.sort_by(f64::total_cmp);
    across.dedup();
    let mut out = open_table(plot, number);
    put!(out, "<tr><th scope=\"col\">{}</th>", escape(&plot.x.label));
    for line in &lines {
        put!(out, "<th scope=\"col\">{}</th>", escape(&line.name));
    }
    out.push_str("</tr></thead><tbody>\n");
    for x in across {
        put!(out, "<tr><th scope=\"row\">{}</th>", escape(&plot.x.value(x)));
        for line in &lines {
            let cell = match line.points.iter().find(|p| p.x == x && p.y.is_finite()) {
                None => "–".to_owned(),
                Some(point) => match point.interval {
                    None => figure(point.y, plot.y.unit),
                    Some(half) => {
                        let (mean, half, suffix) = mean_and_interval(point.y, half, plot.y.unit);
                        format!("{mean} ± {half} {suffix}")
                    }
                },
            };
            put!(out, "<td>{}</td>", escape(&cell));
        }
        out.push_str("</tr>\n");
    }
    out + "</tbody></table></div></details>\n"
}

fn extremes_table(plot: &Plot, number: usize) -> String {
    let mut out = open_table(plot, number);
    out.push_str(
        "<tr><th scope=\"col\">line</th><th scope=\"col\">least</th><th scope=\"col\">mean</th>\
         <th scope=\"col\">greatest</th><th scope=\"col\">values</th></tr></thead><tbody>\n",
    );
    for line in plot.lines.iter().filter(|line| !line.style.is_guide()) {
        let name = &line.name;
        let values: Vec<f64> = line.points.iter().map(|p| p.y).filter(|y| y.is_finite()).collect();
        if values.is_empty() || name.is_empty() {
            continue;
        }
        let (least, most) = crate::describe::range(values.iter().copied());
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        put!(out, "<tr><th scope=\"row\">{}</th>", escape(name));
        for value in [least, mean, most] {
            put!(out, "<td>{}</td>", escape(&figure(value, plot.y.unit)));
        }
        put!(out, "<td>{}</td></tr>\n", values.len());
    }
    out + "</tbody></table></div></details>\n"
}

fn open_table(plot: &Plot, number: usize) -> String {
    format!(
        "<details><summary>Data of figure {number}</summary><div class=\"wide\"><table><caption>{}</caption><thead>",
        escape(&plot.title)
    )
}
