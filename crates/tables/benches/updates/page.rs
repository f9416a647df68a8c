//! Renders curves as a page that opens without a network: a plot and its table for each load.

use std::fmt::Write;

use super::curves::Plot;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 50.0;
const BOTTOM: f64 = 30.0;

/// Colours that people with any colour vision can distinguish (Okabe and Ito). Further lines repeat
/// the colours with dashes.
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31"];

/// Returns the page.
pub(crate) fn html(plots: &[Plot], counts: &[usize]) -> String {
    let mut out = String::from(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Updates on several cores</title>\
         <style>body{font:14px sans-serif;max-width:70em;margin:2em auto}td,th{padding:.1em .8em;text-align:right}\
         td:first-child{text-align:left}svg{background:#fff}</style><h1>Millions of updates per second of all cores</h1>",
    );
    for plot in plots {
        let _ =
            write!(out, "<h2>{}</h2>{}{}", plot.title, drawing(plot, counts), table(plot, counts));
    }
    out.push_str("</html>\n");
    out
}

fn table(plot: &Plot, counts: &[usize]) -> String {
    let mut out = String::from("<table><tr><th></th><th>cores</th>");
    counts.iter().for_each(|count| _ = write!(out, "<th>{count}</th>"));
    out.push_str("</tr>");
    for (index, line) in plot.lines.iter().enumerate() {
        let (colour, dash) = style(index);
        let _ = write!(
            out,
            "<tr><td><svg width=\"30\" height=\"8\"><path d=\"M0 4H30\" stroke=\"{colour}\" stroke-width=\"2\" \
             stroke-dasharray=\"{dash}\"/></svg></td><td style=\"text-align:left\">{}</td>",
            line.name
        );
        line.points.iter().for_each(|(_, rate)| _ = write!(out, "<td>{rate}</td>"));
        out.push_str("</tr>");
    }
    out.push_str("</table>");
    out
}

fn style(index: usize) -> (&'static str, &'static str) {
    let dashes = ["none", "6 3", "2 3"];
    (COLOURS[index % COLOURS.len()], dashes[index / COLOURS.len() % dashes.len()])
}

fn drawing(plot: &Plot, counts: &[usize]) -> String {
    let most_cores = counts.iter().copied().max().unwrap_or(1).max(2) as f64;
    let rates = plot.lines.iter().flat_map(|line| line.points.iter().map(|(_, rate)| rate.mean));
    let top = rates.fold(1.0, f64::max) * 1.05;
    let x = |cores: usize| LEFT + (cores as f64 - 1.0) / (most_cores - 1.0) * (WIDTH - LEFT - 10.0);
    let y = |rate: f64| HEIGHT - BOTTOM - rate / top * (HEIGHT - BOTTOM - 10.0);
    let mut out =
        format!("<p><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" role=\"img\">");
    for step in 0..=4 {
        let rate = top * f64::from(step) / 4.0;
        let _ = write!(
            out,
            "<path d=\"M{LEFT} {0:.1}H{WIDTH}\" stroke=\"#ddd\"/><text x=\"{1}\" y=\"{0:.1}\" font-size=\"11\" \
             text-anchor=\"end\">{rate:.0}</text>",
            y(rate),
            LEFT - 6.0
        );
    }
    for &count in counts {
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{}\" font-size=\"11\" text-anchor=\"middle\">{count}</text>",
            x(count),
            HEIGHT - 12.0
        );
    }
    for (index, line) in plot.lines.iter().enumerate() {
        let (colour, dash) = style(index);
        let points: Vec<String> = line
            .points
            .iter()
            .map(|(count, rate)| format!("{:.1},{:.1}", x(*count), y(rate.mean)))
            .collect();
        let _ = write!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\">\
             <title>{}</title></polyline>",
            points.join(" "),
            line.name
        );
    }
    out.push_str("</svg></p>");
    out
}
