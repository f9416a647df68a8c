//! A plot with its caption and its data as a table.

use super::escape;
use crate::format::{figure, mean_and_interval};
use crate::plot::{Line, Plot};
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

/// Numbers figures through the page.
#[derive(Default)]
pub(crate) struct Numbering(usize);

/// Figures side by side; those without data are left out. Nothing if none is left.
pub(crate) fn row(figures: Vec<Figure>, numbering: &mut Numbering) -> String {
    let mut out = String::new();
    for figure in figures.into_iter().filter(|figure| !figure.plot.is_empty()) {
        numbering.0 += 1;
        let number = numbering.0;
        put!(
            out,
            "<figure id=\"figure-{number}\"><figcaption><b>Figure {number}.</b> {}",
            escape(&figure.plot.title)
        );
        if !figure.remark.is_empty() {
            put!(out, " <span class=\"remark\">{}</span>", escape(&figure.remark));
        }
        put!(out, "</figcaption>\n{}", figure.plot.svg(&format!("f{number}")));
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
