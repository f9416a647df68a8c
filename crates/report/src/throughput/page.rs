//! `report.html` of a benchmark: the plot, every case, the method.

use ::throughput::run::Case;
use probe::metrics::Unit;
use statistics::Estimate;

use super::{Run, checked, cost, fault, path, percentile, rate, remarks, size};
use crate::describe::distinct;
use crate::format::{command_line, duration, estimate, figure, plural, printable, whole};
use crate::html::figure::{Data, Figure, Numbering, row};
use crate::html::{escape, head, section};
use crate::plot::{Axis, Line, Plot, Point, Style};
use crate::put::put;

const DEFINITIONS: [(&str, &str); 5] = [
    (
        "Rate",
        "Packets per second of the processor time of the workers, all of them together: the mean over repetitions with its \
         95 % confidence interval by Student's t. Cases take turns within each repetition.",
    ),
    (
        "What the clock sees",
        "Packets of random flows lie in memory; each is processed and what leaves is copied out. Making the packets and \
         checking what left is done while the clock stands.",
    ),
    (
        "Copying alone",
        "The same loop with no program in it: each packet is copied from where it came to where it goes.",
    ),
    (
        "Latency",
        "An open loop of one worker: packets become due at a fixed rate, a share of what was reached, whether or not those \
         before are done. From when a packet is due to when its output is in place. Bursts of up to 32.",
    ),
    (
        "Checked",
        "Share of the packets under the clock whose output, ports and bytes, was held against what the reference interpreter \
         gives for the flow. Outputs that depend on more than the flow cannot be; they are compared in a run before.",
    ),
];

/// The whole document.
#[must_use]
pub fn document(run: &Run<'_>) -> String {
    let title = format!("How fast {} runs", printable(run.program));
    let mut numbering = Numbering::default();
    let mut out = head(&title);
    put!(
        out,
        "<header>\n<p class=\"kicker\">Planimeter {} · P4 programs</p>\n<h1>{}</h1>\n",
        escape(&printable(run.version)),
        escape(&title)
    );
    put!(
        out,
        "<p class=\"facts\"><span>{} of {}</span> · <span>started <time>{}</time>, took {}</span> · <span>seed {}</span></p>\n",
        plural(run.settings.repetitions as u64, "repetition", "repetitions"),
        escape(&duration(run.settings.time.as_secs_f64())),
        escape(run.started_at),
        escape(&duration(run.elapsed_s)),
        run.settings.seed,
    );
    if run.points.iter().any(|point| point.findings.interrupted) {
        out.push_str(
            "<div class=\"card bad\" role=\"alert\"><p><b>This run is partial: it was interrupted.</b></p></div>\n",
        );
    }
    for text in cases(run).filter_map(|(_, case)| fault(case)) {
        put!(out, "<div class=\"card bad\" role=\"alert\"><p>{}</p></div>\n", escape(&text));
    }
    out.push_str("<ul class=\"notes\">\n");
    for remark in remarks(run) {
        put!(out, "<li>{}</li>\n", escape(&remark));
    }
    out.push_str("</ul>\n</header>\n<main>\n");
    if run.points.len() > 1 {
        section(&mut out, "figures", "Figures", &row(vec![rates(run)], &mut numbering));
    }
    section(&mut out, "cases", "All cases", &all(run));
    section(&mut out, "traffic", "Traffic", &traffic(run));
    section(&mut out, "method", "Method", &method(run));
    out + "</main>\n</body>\n</html>\n"
}

fn cases<'a>(run: &Run<'a>) -> impl Iterator<Item = (&'a super::Point, &'a Case)> + use<'a> {
    run.points.iter().flat_map(|point| point.findings.cases.iter().map(move |case| (point, case)))
}

/// Rate against entries.
fn rates(run: &Run<'_>) -> Figure {
    let name =
        |case: &Case| format!("{}, {}", path(case), plural(case.cores as u64, "core", "cores"));
    let names = distinct(cases(run).map(|(_, case)| name(case)));
    let mut lines: Vec<Line> = names
        .into_iter()
        .enumerate()
        .map(|(hue, text)| {
            let points = cases(run).filter(|(_, case)| name(case) == text);
            let points = points.filter_map(|(point, case)| drawn(&text, point.flows, rate(case)?));
            Line::new(text.clone(), points.collect(), Style::series(hue).filled())
        })
        .collect();
    let copied = run.points.iter().filter_map(|point| {
        drawn("copying alone", point.flows, Estimate::of(&point.findings.copied)?)
    });
    lines.push(Line::new("copying alone", copied.collect(), Style::guide()));
    Figure {
        plot: Plot {
            title: "Throughput against entries".to_owned(),
            description: "Packets per second against the number of entries, by path and cores, and of a loop that only \
                          copies packets."
                .to_owned(),
            x: Axis::binary("entries"),
            y: Axis::logarithmic("packets per second, all cores", Unit::PerSecond),
            lines,
            areas: Vec::new(),
            span: None,
            marks: Vec::new(),
            keys: Vec::new(),
        },
        remark: "Dashed: each packet copied in and out, and nothing else.".to_owned(),
        data: Data::Points,
    }
}

fn drawn(name: &str, entries: usize, found: Estimate) -> Option<Point> {
    Some(Point {
        x: entries as f64,
        y: found.mean,
        interval: found.ci95,
        tip: Some(format!(
            "{name}, {} entries: {}",
            size(entries),
            estimate(&found, Unit::PerSecond)
        )),
    })
}

fn all(run: &Run<'_>) -> String {
    let mut out = String::from(
        "<div class=\"wide\"><table class=\"points\"><caption>All cases</caption><thead><tr>\
         <th scope=\"col\" class=\"text\">path</th>",
    );
    for name in [
        "entries", "cores", "rate", "cost", "offered", "p50", "p99", "p99.9", "checked", "wrong",
        "errors", "loading", "code",
    ] {
        put!(out, "<th scope=\"col\">{name}</th>");
    }
    out.push_str("</tr></thead><tbody>\n");
    let text = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
    for (point, case) in cases(run).filter(|(_, case)| !case.rates.is_empty()) {
        let compiled = case.code_bytes > 0;
        let cells = [
            size(point.flows),
            case.cores.to_string(),
            text(rate(case).map(|rate| estimate(&rate, Unit::PerSecond))),
            text(cost(case).map(|cost| estimate(&cost, Unit::Seconds))),
            text(case.latency.as_ref().map(|latency| figure(latency.offered, Unit::PerSecond))),
            percentile(case, 0.5),
            percentile(case, 0.99),
            percentile(case, 0.999),
            checked(case),
            whole(case.counts.wrong),
            whole(case.counts.errors),
            text(compiled.then(|| duration(case.loading.as_secs_f64()))),
            text(compiled.then(|| figure(case.code_bytes as f64, Unit::Bytes))),
        ];
        put!(out, "<tr><th scope=\"row\">{}</th>", path(case));
        for cell in cells {
            put!(out, "<td>{}</td>", escape(&cell));
        }
        out.push_str("</tr>\n");
    }
    out + "</tbody></table></div>\n"
}

fn traffic(run: &Run<'_>) -> String {
    let mut out = String::from(
        "<table><thead><tr><th scope=\"col\">flows</th><th scope=\"col\">packet</th><th scope=\"col\">flows that leave</th>\
         <th scope=\"col\" class=\"text\">entries</th><th scope=\"col\">copying alone</th></tr></thead><tbody>\n",
    );
    for point in run.points {
        let tables: Vec<String> = point
            .entries
            .iter()
            .map(|(name, count)| format!("{}: {}", printable(name), whole(*count as u64)))
            .collect();
        let copied = Estimate::of(&point.findings.copied);
        put!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td class=\"text\">{}</td><td>{}</td></tr>\n",
            size(point.flows),
            figure(point.packet_bytes, Unit::Bytes),
            whole(point.leaving as u64),
            escape(&tables.join(", ")),
            escape(&copied.map_or_else(String::new, |copied| estimate(&copied, Unit::PerSecond)))
        );
    }
    out + "</tbody></table>\n"
}

fn method(run: &Run<'_>) -> String {
    let host = run.host;
    let rows = [
        ("Command", command_line(run.command)),
        ("Host", printable(&host.hostname)),
        ("Processor", printable(&host.cpu_model)),
        ("Kernel", printable(&host.kernel)),
        ("Memory", figure(host.memory_bytes as f64, Unit::Bytes)),
    ];
    let mut out = String::from("<table class=\"text\"><tbody>\n");
    for (name, value) in rows.into_iter().filter(|(_, value)| !value.is_empty()) {
        put!(
            out,
            "<tr><th scope=\"row\">{name}</th><td class=\"text prose\">{}</td></tr>\n",
            escape(&value)
        );
    }
    out.push_str("</tbody></table>\n<h3>What the figures mean</h3>\n<dl class=\"definitions\">\n");
    for (term, meaning) in DEFINITIONS {
        put!(out, "<dt>{}</dt><dd>{}</dd>\n", escape(term), escape(meaning));
    }
    out + "</dl>\n"
}
