//! The first screen.

use probe::metrics::Unit;
use probe::outcome::{Point, RunResult, Saturated, SearchOutcome};
use statistics::Estimate;

use super::escape;
use crate::estimates::{Kind, metric};
use crate::format::{
    capital, command_line, duration, estimate, figure, optional, printable, setting,
};
use crate::put::put;
use crate::terminal::threshold_value;
use crate::{describe, verdict};

/// What was measured, the verdict, the headline figures, thresholds, remarks.
pub(super) fn of(result: &RunResult, title: &str) -> String {
    let mut out = String::new();
    put!(
        out,
        "<header>\n<p class=\"kicker\">Planimeter {} · controller benchmark</p>\n<h1>{}</h1>\n",
        escape(&printable(&result.planimeter_version)),
        escape(title),
    );
    let address = printable(&result.controller.address);
    put!(out, "<p class=\"facts\"><span>Controller <b>{}</b>", escape(&address));
    if let Some(process) = &result.controller.process {
        put!(out, " ({})", escape(&printable(process)));
    }
    put!(
        out,
        "</span> · <span>{}</span> · <span>started <time>{}</time>, took {}</span></p>\n",
        escape(&describe::effort(result)),
        escape(&printable(&result.started_at)),
        escape(&duration(result.elapsed_s)),
    );
    out.push_str(&incomplete(result));
    out.push_str(&why_zero(result));
    out.push_str(&verdict_card(result));
    out.push_str(&tiles(result));
    out.push_str(&search(result));
    out.push_str(&thresholds(result));
    out.push_str(&notes(result));
    out.push_str("</header>\n");
    out
}

fn incomplete(result: &RunResult) -> String {
    let Some((state, reason)) = describe::incomplete(&result.completion) else {
        return String::new();
    };
    let meaning = match state {
        "PARTIAL" => "This run is partial: its figures cover a part of what was asked for.",
        _ => "This run failed: nothing could be measured.",
    };
    format!(
        "<div class=\"card bad\" role=\"alert\"><p><b>{meaning}</b></p><p>{}</p></div>\n",
        escape(&reason)
    )
}

fn why_zero(result: &RunResult) -> String {
    let mut out = String::new();
    for (reason, points) in describe::why_zero(result) {
        put!(
            out,
            "<div class=\"card bad\"><p><b>Why nothing was answered</b></p><p>{}</p>",
            escape(&reason)
        );
        if result.points.len() > 1 {
            put!(out, "<p class=\"remark\">{}</p>", escape(&points.join("; ")));
        }
        out.push_str("</div>\n");
    }
    out
}

fn verdict_card(result: &RunResult) -> String {
    let Some(verdict) = verdict::of_run(result) else { return String::new() };
    let (class, sign) = match verdict.side {
        Saturated::Neither => ("good", "✓"),
        Saturated::Controller => ("plain", "◆"),
        Saturated::Unknown => ("warn", "?"),
        Saturated::Probe => ("bad", "!"),
    };
    let mut out = format!(
        "<div class=\"card {class}\"><p><span class=\"sign\" aria-hidden=\"true\">{sign}</span><b>{}</b></p>\n",
        escape(&verdict.sentence)
    );
    for sentence in &verdict.further {
        put!(out, "<p>{}</p>\n", escape(sentence));
    }
    out + "</div>\n"
}

/// A headline figure.
struct Tile {
    name: String,
    value: String,
    remark: String,
}

fn tiles(result: &RunResult) -> String {
    let tiles = match result.points.as_slice() {
        [] => Vec::new(),
        [point] => of_point(point),
        points => of_sweep(points, result.search.as_ref()),
    };
    if tiles.is_empty() {
        return String::new();
    }
    // Full rows look best.
    let columns = match tiles.len() {
        n @ 1..=4 => n,
        5 | 6 | 9 => 3,
        _ => 4,
    };
    let mut out = format!("<dl class=\"tiles\" style=\"--columns:{columns}\">\n");
    for tile in tiles {
        put!(
            out,
            "<div><dt>{}</dt><dd class=\"value\">{}</dd><dd class=\"remark\">{}</dd></div>\n",
            escape(&tile.name),
            escape(&tile.value),
            escape(&tile.remark)
        );
    }
    out + "</dl>\n"
}

/// `n = 5 trials`, or that there is no interval.
fn confidence(estimate: &Estimate) -> String {
    match estimate.n {
        1 => "one trial, no interval".to_owned(),
        n => format!("95 % CI, n = {n} trials"),
    }
}

fn of_point(point: &Point) -> Vec<Tile> {
    let tile = |name: &str, metric_name: &str, unit, remark: &dyn Fn(&Estimate) -> String| {
        metric(point, metric_name).map(|value| Tile {
            name: name.to_owned(),
            value: estimate(value, unit),
            remark: remark(value),
        })
    };
    let mean = |name: &str, unit| optional(metric(point, name).map(|e| e.mean), unit);
    let offered = point
        .offered_rate
        .map_or_else(String::new, |rate| format!("of {} offered; ", figure(rate, Unit::PerSecond)));
    let samples = format!("{} samples", figure(Kind::FromDue.samples(point) as f64, Unit::Count));
    let tiles = [
        tile("Answered", "received_rate", Unit::PerSecond, &|e| {
            format!("{offered}{}", confidence(e))
        }),
        tile("Loss", "loss", Unit::Fraction, &confidence),
        tile("Round-trip time, median", "rtt.p50", Unit::Seconds, &|_| {
            format!("from due; mean {}; {samples}", mean("rtt.mean", Unit::Seconds))
        }),
        tile("Round-trip time, p99", "rtt.p99", Unit::Seconds, &|_| {
            format!(
                "from due; p99.9 {}, max {}",
                mean("rtt.p999", Unit::Seconds),
                mean("rtt.max", Unit::Seconds)
            )
        }),
        tile("Controller CPU", "controller.cpu", Unit::CpuPercent, &|_| {
            format!("of one core; memory {}", mean("controller.rss", Unit::Bytes))
        }),
        tile("Behind schedule, p99", "lag.p99", Unit::Seconds, &|_| {
            format!("of the probe; its CPU {} of one core", mean("probe.cpu", Unit::CpuPercent))
        }),
    ];
    tiles.into_iter().flatten().collect()
}

fn of_sweep(points: &[Point], search: Option<&SearchOutcome>) -> Vec<Tile> {
    let mut tiles = Vec::new();
    let protocols = describe::distinct(points.iter().map(|p| p.protocol.as_str()));
    let largest =
        |of: &mut dyn Iterator<Item = (f64, String)>| of.max_by(|a, b| a.0.total_cmp(&b.0));
    for protocol in &protocols {
        let own = || points.iter().filter(|p| p.protocol == *protocol);
        let suffix = if protocols.len() > 1 {
            format!(", {}", describe::protocol(protocol))
        } else {
            String::new()
        };
        // What a search found is more exact than the points that it went through, and said once.
        if search.is_some() {
            continue;
        }
        let answered = own().filter_map(|p| Some((p, metric(p, "received_rate")?)));
        if let Some((point, value)) = answered.max_by(|a, b| a.1.mean.total_cmp(&b.1.mean)) {
            tiles.push(Tile {
                name: format!("Highest rate answered{suffix}"),
                value: estimate(value, Unit::PerSecond),
                remark: format!("{}; {}", place(point, &[protocol]), confidence(value)),
            });
        }
        let sustained = own().filter(|p| {
            metric(p, "loss").is_some_and(|loss| loss.max == 0.0)
                && verdict::of_point(p).side == Saturated::Neither
        });
        let found =
            largest(&mut sustained.filter_map(|p| Some((p.offered_rate?, place(p, &[protocol])))));
        if let Some((rate, at)) = found {
            tiles.push(Tile {
                name: format!("Highest rate sustained{suffix}"),
                value: setting(rate, Unit::PerSecond),
                remark: format!("offered, all answered, neither side saturated; {at}"),
            });
        }
    }
    if let Some(search) = search {
        tiles.push(Tile {
            name: "Highest rate answered".to_owned(),
            value: figure(search.maximum_received_rate, Unit::PerSecond),
            remark: match search.maximum_at_rate {
                Some(at) => {
                    format!("at {} offered; all switches together", figure(at, Unit::PerSecond))
                }
                None => "all switches together".to_owned(),
            },
        });
    }
    if let Some(rate) = search.and_then(|search| search.loss_free_rate) {
        tiles.push(Tile {
            name: "Highest loss-free rate".to_owned(),
            value: figure(rate, Unit::PerSecond),
            remark: "found by search; all switches together".to_owned(),
        });
    }
    let medians = || points.iter().filter_map(|p| metric(p, "rtt.p50")).map(|e| e.mean);
    let (least, most) = describe::range(medians());
    if least <= most {
        tiles.push(Tile {
            name: "Round-trip time, median".to_owned(),
            value: format!("{} to {}", figure(least, Unit::Seconds), figure(most, Unit::Seconds)),
            remark: "from due; best to worst point".to_owned(),
        });
    }
    let mut cpu = points
        .iter()
        .filter_map(|p| Some((metric(p, "controller.cpu")?.mean, place(p, &protocols))));
    if let Some((most, at)) = largest(&mut cpu) {
        tiles.push(Tile {
            name: "Controller CPU, at most".to_owned(),
            value: figure(most, Unit::CpuPercent),
            remark: format!("of one core; {at}"),
        });
    }
    let mut lag =
        points.iter().filter_map(|p| Some((metric(p, "lag.p99")?.mean, place(p, &protocols))));
    if let Some((most, at)) = largest(&mut lag) {
        tiles.push(Tile {
            name: "Behind schedule, worst p99".to_owned(),
            value: figure(most, Unit::Seconds),
            remark: format!("of the probe; {at}"),
        });
    }
    let limited =
        points.iter().filter(|p| verdict::of_point(p).side == Saturated::Controller).count();
    tiles.push(Tile {
        name: "Controller saturated".to_owned(),
        value: format!("{limited} of {}", points.len()),
        remark: "points, in at least one trial".to_owned(),
    });
    tiles
}

fn place(point: &Point, protocols: &[&str]) -> String {
    let switches = crate::format::plural(u64::from(point.switches), "switch", "switches");
    match protocols.len() {
        1 => format!("{switches}, {}", describe::load(point)),
        _ => describe::point(point),
    }
}

fn search(result: &RunResult) -> String {
    let Some(search) = &result.search else { return String::new() };
    let mut out = String::from(
        "<h2>Search</h2>\n<table class=\"narrow\"><caption>All switches together</caption><tbody>\n",
    );
    for describe::SearchRow { name, value, remark } in describe::search(search) {
        let (name, value) = (capital(name), value.map(|value| figure(value, Unit::PerSecond)));
        let cell = match value {
            None => remark,
            Some(value) if remark.is_empty() => value,
            Some(value) => format!("{value} ({remark})"),
        };
        put!(out, "<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escape(&name), escape(&cell));
    }
    out.push_str("</tbody></table>\n");
    if !search.loss_free_method.is_empty() {
        let method = printable(&search.loss_free_method);
        put!(out, "<p class=\"remark\">{}</p>\n", escape(&method));
    }
    if !search.knee_method.is_empty() {
        put!(out, "<p class=\"remark\">Knee: {}</p>\n", escape(&printable(&search.knee_method)));
    }
    if search.limited_by_probe {
        out.push_str("<p class=\"card bad\"><b>The probe was the limit at the highest point: the controller may take more.</b></p>\n");
    }
    out
}

fn thresholds(result: &RunResult) -> String {
    if result.thresholds.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<h2>Thresholds</h2>\n<div class=\"wide\"><table><thead><tr><th scope=\"col\" class=\"text\">held</th>\
         <th scope=\"col\" class=\"text\">condition</th><th scope=\"col\">measured</th>\
         <th scope=\"col\" class=\"text\">point</th></tr></thead><tbody>\n",
    );
    for threshold in &result.thresholds {
        let (class, word) = if threshold.held { ("good", "✓ pass") } else { ("bad", "✗ FAIL") };
        let remark = threshold.remark.as_ref().map_or_else(String::new, |remark| {
            format!(" <span class=\"remark\">({})</span>", escape(&printable(remark)))
        });
        put!(
            out,
            "<tr><td class=\"text {class}\">{word}</td><th scope=\"row\"><code>{}</code></th><td>{}{remark}</td><td class=\"text\">{}</td></tr>\n",
            escape(&printable(&threshold.condition)),
            escape(&threshold_value(&threshold.condition, threshold.value)),
            escape(&printable(&threshold.point)),
        );
    }
    out + "</tbody></table></div>\n"
}

fn notes(result: &RunResult) -> String {
    let mut out = String::new();
    let notes = describe::notes(result);
    if !notes.is_empty() {
        out.push_str("<h2>Notes</h2>\n<ul class=\"notes\">\n");
        for note in notes {
            put!(out, "<li>{}</li>\n", escape(&note));
        }
        out.push_str("</ul>\n");
    }
    if !result.command.is_empty() {
        put!(
            out,
            "<p class=\"command\"><code>{}</code></p>\n",
            escape(&command_line(&result.command))
        );
    }
    out
}
