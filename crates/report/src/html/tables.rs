//! Tables of points, of times and of switches.

use probe::metrics::Unit;
use probe::outcome::{Point, Saturated, SwitchOutcome};
use statistics::Estimate;

use super::escape;
use crate::estimates::{self, STATISTICS, UNBOUNDED, UNBOUNDED_MEANS, mark, metric, usable};
use crate::format::{duration, estimate, figure, optional, plural, printable, setting, whole};
use crate::put::put;
use crate::{describe, verdict};

/// Switches that have a row of their own.
const SWITCH_ROWS: usize = 64;

/// A mean with its interval, or a dash.
fn mean(value: Option<&Estimate>, unit: Unit) -> String {
    value.map_or_else(|| "–".to_owned(), |value| estimate(value, unit))
}

/// A column of figures.
type Column = (&'static str, fn(&Point) -> String);

/// The columns of the table of points.
const COLUMNS: [Column; 10] = [
    ("offered", |point| {
        point.offered_rate.map_or_else(|| "–".to_owned(), |rate| setting(rate, Unit::PerSecond))
    }),
    ("sent", |point| short(point, "sent_rate", Unit::PerSecond)),
    ("received", |point| mean(metric(point, "received_rate"), Unit::PerSecond)),
    ("loss", |point| mean(metric(point, "loss"), Unit::Fraction)),
    ("unsent", |point| short(point, "unsent", Unit::Count)),
    ("RTT mean", |point| mean(metric(point, "rtt.mean"), Unit::Seconds) + mark(point, "mean")),
    ("RTT p99", |point| mean(metric(point, "rtt.p99"), Unit::Seconds) + mark(point, "p99")),
    ("lag p99", |point| short(point, "lag.p99", Unit::Seconds)),
    ("CPU", |point| mean(metric(point, "controller.cpu"), Unit::CpuPercent)),
    ("trials", |point| usable(point).count().to_string()),
];

/// A mean without its interval, where that is of no interest.
fn short(point: &Point, name: &str, unit: Unit) -> String {
    optional(metric(point, name).map(|estimate| estimate.mean), unit)
}

/// Whether points have a place of their own in the page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    /// Yes: their numbers lead there.
    ToPoints,
    /// No.
    None,
}

/// One row per point, with the rows of a protocol together.
pub(super) fn of_sweep(points: &[Point], links: Links) -> String {
    let mut out = String::from(
        "<div class=\"wide\"><table class=\"points\"><caption>All points</caption><thead><tr>\
         <td></td><th scope=\"col\">switches</th><th scope=\"col\" class=\"text\">load</th>",
    );
    for (head, _) in COLUMNS {
        put!(out, "<th scope=\"col\">{head}</th>");
    }
    put!(out, "<th scope=\"col\" class=\"text\">limit</th></tr></thead>\n");
    let kind = |point: &Point| {
        format!("{}, {}", describe::protocol(&point.protocol), describe::mode(&point.mode))
    };
    for group in describe::distinct(points.iter().map(kind)) {
        let all = COLUMNS.len() + 4;
        let name = escape(&group);
        put!(out, "<tbody><tr><th scope=\"rowgroup\" colspan=\"{all}\">{name}</th></tr>\n");
        let own = points.iter().enumerate().filter(|(_, point)| kind(point) == group);
        for (position, point) in own {
            sweep_row(&mut out, position + 1, point, links);
        }
        out.push_str("</tbody>\n");
    }
    out.push_str(
        "</table></div>\n<p class=\"remark\">Means over trials ± 95 % confidence interval. \
         Round-trip times from due. Lag: delay behind the schedule. CPU of the controller, in \
         percent of one core.",
    );
    if points.iter().any(|point| !mark(point, "p99").is_empty()) {
        put!(out, " {}.", escape(UNBOUNDED_MEANS));
    }
    out.push_str("</p>\n");
    out
}

fn sweep_row(out: &mut String, number: usize, point: &Point, links: Links) {
    let switches = whole(u64::from(point.switches));
    let load = describe::load(point);
    match links {
        Links::ToPoints => put!(out, "<tr><td><a href=\"#point-{number}\">{number}</a></td>"),
        Links::None => put!(out, "<tr><td>{number}</td>"),
    }
    put!(out, "<td>{switches}</td>");
    put!(out, "<td class=\"text\">{}</td>", escape(&load));
    for (_, cell) in COLUMNS {
        put!(out, "<td>{}</td>", escape(&cell(point)));
    }
    let verdict = verdict::of_point(point);
    put!(out, "<td class=\"text {}\">{}</td></tr>\n", class(verdict.side), verdict.short());
}

/// A point in a line: what was answered, how fast, and who was the limit.
pub(super) fn gist(point: &Point) -> String {
    let received = mean(metric(point, "received_rate"), Unit::PerSecond);
    let p99 = mean(metric(point, "rtt.p99"), Unit::Seconds);
    let limit = verdict::of_point(point).short();
    format!("answered {received}, RTT p99 {p99}, limit: {limit}")
}

/// How a verdict stands out.
fn class(side: Saturated) -> &'static str {
    match side {
        Saturated::Probe => "bad",
        Saturated::Unknown => "warn",
        Saturated::Controller => "strong",
        Saturated::Neither => "",
    }
}

/// Rates, times, counts, handshake and verdicts of a point.
pub(super) fn of_point(point: &Point) -> String {
    let mut out = String::from("<div class=\"tables\">\n");
    if usable(point).next().is_some() {
        out.push_str(&rates(point));
        out.push_str(&times(point));
        out.push_str(&counts(point));
    }
    out.push_str(&handshake(point));
    out.push_str(&trials(point));
    out + "</div>\n"
}

fn rates(point: &Point) -> String {
    let mut out = String::from(
        "<table><caption>Rates and load; CPU in percent of one core</caption><thead><tr><td></td>\
         <th scope=\"col\">mean ± 95 % CI</th><th scope=\"col\">least</th>\
         <th scope=\"col\">most</th><th scope=\"col\">n</th></tr></thead><tbody>\n",
    );
    for (label, value, unit) in estimates::rates(point) {
        put!(
            out,
            "<tr><th scope=\"row\">{label}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
            escape(&estimate(value, unit)),
            escape(&figure(value.min, unit)),
            escape(&figure(value.max, unit)),
            value.n
        );
    }
    out + "</tbody></table>\n"
}

fn times(point: &Point) -> String {
    let kinds = estimates::kinds(point);
    if kinds.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<table><caption>Times: mean over trials ± 95 % CI</caption><thead><tr><td></td>",
    );
    for (_, name) in &kinds {
        put!(out, "<th scope=\"col\">{name}</th>");
    }
    out.push_str("</tr></thead><tbody>\n");
    for statistic in STATISTICS {
        put!(out, "<tr><th scope=\"row\">{}</th>", statistic.name);
        for (kind, _) in &kinds {
            let value = mean(kind.estimate(point, statistic).as_ref(), Unit::Seconds);
            let mark = if kind.is_unbounded(point, statistic) { UNBOUNDED } else { "" };
            put!(out, "<td>{}{mark}</td>", escape(&value));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("<tr><th scope=\"row\">samples</th>");
    for (kind, _) in &kinds {
        match kind.is_of_packets() {
            true => put!(out, "<td>{}</td>", whole(kind.samples(point))),
            false => put!(out, "<td>any time</td>"),
        }
    }
    if kinds.iter().any(|(kind, _)| kind.missing(point) > 0) {
        out.push_str("</tr>\n<tr><th scope=\"row\">missing</th>");
        for (kind, _) in &kinds {
            match kind.is_of_packets() {
                true => put!(out, "<td>{}</td>", whole(kind.missing(point))),
                false => put!(out, "<td></td>"),
            }
        }
    }
    out.push_str("</tr></tbody></table>\n");
    if kinds.iter().any(|(kind, _)| STATISTICS.iter().any(|s| kind.is_unbounded(point, *s))) {
        put!(out, "<p class=\"remark\">{}.</p>\n", escape(UNBOUNDED_MEANS));
    }
    out
}

fn counts(point: &Point) -> String {
    let trials = plural(usable(point).count() as u64, "trial", "trials");
    let mut out = format!("<table><caption>Counts, sum of {trials}</caption><tbody>\n");
    for (label, value) in estimates::counts(point) {
        put!(out, "<tr><th scope=\"row\">{label}</th><td>{}</td></tr>\n", whole(value));
    }
    out + "</tbody></table>\n"
}

/// What each trial came to, and why it says so.
fn trials(point: &Point) -> String {
    let mut out = String::from(
        "<table><caption>Trials</caption><thead><tr><th scope=\"col\">trial</th>\
         <th scope=\"col\">seed</th><th scope=\"col\">measured</th>\
         <th scope=\"col\" class=\"text\">limit</th><th scope=\"col\" class=\"text\">because</th>\
         </tr></thead><tbody>\n",
    );
    for trial in &point.trials {
        let state = describe::incomplete(&trial.completion)
            .map_or_else(String::new, |(state, reason)| format!("{state}: {reason}. "));
        put!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"text {}\">{}</td>\
             <td class=\"text prose\">{}{}</td></tr>\n",
            trial.repetition,
            trial.seed,
            escape(&duration(trial.measured_s)),
            class(trial.verdict.saturated),
            verdict::word(trial.verdict.saturated),
            escape(&state),
            escape(&printable(&trial.verdict.because)),
        );
    }
    out + "</tbody></table>\n"
}

/// How far the switches came, of the trial in which the fewest became ready.
fn handshake(point: &Point) -> String {
    let Some(worst) = point.trials.iter().map(|t| &t.handshake).min_by_key(|h| h.ready) else {
        return String::new();
    };
    let after = worst
        .ready_after_s
        .map_or_else(String::new, |s| format!(", the last after {}", figure(s, Unit::Seconds)));
    let mut out = format!(
        "<table><caption>Handshake: {} of {} ready{}</caption><thead><tr><th scope=\"col\" class=\"text\">last stage reached, or error met</th>\
         <th scope=\"col\">switches</th></tr></thead><tbody>\n",
        whole(worst.ready.into()),
        plural(worst.wanted.into(), "switch", "switches"),
        escape(&after),
    );
    for (what, switches) in worst.stages.iter().chain(&worst.errors) {
        put!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n",
            escape(&printable(what)),
            whole((*switches).into())
        );
    }
    out + "</tbody></table>\n"
}

/// A row per switch of the first trial that measured something; of many switches, their spread.
pub(super) fn switches(point: &Point) -> String {
    let Some(trial) = usable(point).next().filter(|t| t.per_switch.len() > 1) else {
        return String::new();
    };
    let all = &trial.per_switch;
    let mut out = format!(
        "<details><summary>{} (trial {})</summary><div class=\"wide\"><table><caption>Switches</caption><thead><tr>",
        plural(all.len() as u64, "switch", "switches"),
        trial.repetition
    );
    for head in [
        "switch",
        "id",
        "sent",
        "unsent",
        "answered",
        "lost",
        "late",
        "sent rate",
        "received rate",
        "RTT mean",
        "RTT max",
    ] {
        put!(out, "<th scope=\"col\">{head}</th>");
    }
    out.push_str("</tr></thead><tbody>\n");
    if all.len() <= SWITCH_ROWS {
        for switch in all {
            row(&mut out, &format!("{}", switch.index), switch);
        }
    } else {
        // Those at even distances in the order of what they got answered, so that both ends and
        // the middle show.
        let mut order: Vec<&SwitchOutcome> = all.iter().collect();
        order.sort_by_key(|switch| switch.counts.answered);
        let spread = [
            ("fewest answers", 0.0),
            ("10 %", 0.1),
            ("median", 0.5),
            ("90 %", 0.9),
            ("most answers", 1.0),
        ];
        for (name, share) in spread {
            let position = (share * (order.len() - 1) as f64).round() as usize;
            if let Some(switch) = order.get(position) {
                row(&mut out, &format!("{name}: {}", switch.index), switch);
            }
        }
    }
    out + "</tbody></table></div><p class=\"remark\">All switches of all trials: <code>per_switch.csv</code>.</p></details>\n"
}

fn row(out: &mut String, name: &str, switch: &SwitchOutcome) {
    put!(out, "<tr><th scope=\"row\">{}</th>", escape(name));
    let cells = [
        switch.id.to_string(),
        whole(switch.counts.sent),
        whole(switch.counts.unsent),
        whole(switch.counts.answered),
        whole(switch.counts.lost),
        whole(switch.counts.late),
        figure(switch.sent_rate, Unit::PerSecond),
        figure(switch.received_rate, Unit::PerSecond),
        optional(switch.rtt_mean_ns.map(|ns| ns / 1e9), Unit::Seconds),
        optional(switch.rtt_max_ns.map(|ns| ns as f64 / 1e9), Unit::Seconds),
    ];
    for cell in cells {
        put!(out, "<td>{}</td>", escape(&cell));
    }
    out.push_str("</tr>\n");
}
