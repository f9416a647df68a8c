//! Prints the prediction of a device's delays for a packet that needs several functions.

use ::device::Model;
use ::device::compose::{Composition, Curves, Guarantee};

use super::{predicted_interval, share};
use crate::format::printable;
use crate::terminal::{Cell, Column, Grid, Layout, Paint};

/// Returns the predicted delays, bounds and service curves of a device for a packet that needs
/// several functions, each with a word for how certain it is. The text ends with a newline.
#[must_use]
pub fn prediction_table(
    model: &Model,
    composition: &Composition,
    curves: &Curves,
    layout: Layout,
) -> String {
    let names: Vec<&str> = composition.functions.iter().map(|name| name.as_str()).collect();
    let functions = if names.is_empty() { "the baseline".to_owned() } else { names.join(" + ") };
    let title = format!("{}: {functions}, {}", printable(&model.device.name), composition.setting);
    let mut out = layout.paragraph("", &title, Paint::Strong);
    out.push_str(&delays(composition, layout));
    out.push_str(&unions(composition, layout));
    out.push_str(&services(curves, layout));
    for remark in &curves.remarks {
        out.push_str(&layout.paragraph("  - ", remark, Paint::Warn));
    }
    out
}

/// Formats the predicted delays.
fn delays(composition: &Composition, layout: Layout) -> String {
    let mut grid = Grid::new(vec![
        Column::left("level").indent(2),
        Column::right("delay"),
        Column::left("interval"),
        Column::right("bound"),
        Column::left("beyond"),
        Column::left("rests on"),
    ]);
    for predicted in &composition.levels {
        let bound = |text: String| if predicted.level.is_upper() { text } else { String::new() };
        grid.row(vec![
            Cell::new(predicted.level.to_string()),
            Cell::new(predicted.value.to_string()),
            Cell::new(predicted_interval(predicted)),
            Cell::new(bound(predicted.safe.to_string())),
            Cell::new(bound(predicted.beyond.map_or_else(|| "unknown".to_owned(), share))),
            guarantee(predicted.guarantee),
        ]);
    }
    let mut out = layout.heading("Delay (equation 9)") + &grid.render(layout);
    for predicted in composition.levels.iter().filter(|predicted| !predicted.negative.is_empty()) {
        let names: Vec<&str> = predicted.negative.iter().map(|name| name.as_str()).collect();
        let clipped = if predicted.level.is_upper() { "; the bound counts it as zero" } else { "" };
        let text =
            format!("{}: {} has a negative cost{clipped}", predicted.level, names.join(", "));
        out.push_str(&layout.paragraph("  - ", &text, Paint::Plain));
    }
    out
}

fn guarantee(guarantee: Guarantee) -> Cell {
    let paint = if guarantee == Guarantee::Empirical { Paint::Faint } else { Paint::Plain };
    Cell::painted(guarantee.to_string(), paint)
}

fn unions(composition: &Composition, layout: Layout) -> String {
    let known = composition.union.iter().filter_map(|bound| Some((bound, bound.delay?)));
    let mut grid = Grid::new(vec![
        Column::left("beyond it, at most").indent(2),
        Column::right("delay"),
        Column::left("rests on"),
    ]);
    for (bound, delay) in known {
        let confidence = Guarantee::Confidence(bound.confidence);
        grid.row(vec![
            Cell::new(share(bound.beyond)),
            Cell::new(delay.to_string()),
            guarantee(confidence),
        ]);
    }
    if grid.is_empty() {
        return String::new();
    }
    layout
        .heading("Union bound: holds whatever costs depend on, as long as each is as it was alone")
        + &grid.render(layout)
}

/// Formats the predicted service curves.
fn services(curves: &Curves, layout: Layout) -> String {
    let mut grid = Grid::new(vec![
        Column::left("level").indent(2),
        Column::left("put together"),
        Column::right("R, Mbit/s"),
        Column::right("T, µs"),
        Column::left("rests on"),
    ]);
    let number =
        |value: &calculus::Rational, round| calculus::network::describe::rounded(value, 7, round);
    let (down, up) =
        (calculus::network::describe::Round::Down, calculus::network::describe::Round::Up);
    for service in &curves.minimum {
        let how = service
            .semantics
            .map_or_else(|| "burst-delay".to_owned(), |semantics| semantics.to_string());
        let rate = service.rate.as_ref().map_or_else(String::new, |rate| number(rate, down));
        let latency = number(&service.latency, up);
        let level = service.level.to_string();
        grid.row(vec![
            Cell::new(level),
            Cell::new(how),
            Cell::new(rate),
            Cell::new(latency),
            guarantee(service.guarantee),
        ]);
    }
    let mut out = layout.heading("Minimum service curves") + &grid.render(layout);
    if let Some(maximum) = &curves.maximum {
        let text = format!(
            "Maximum service curve: R {} Mbit/s, T {} µs",
            number(&maximum.rate, up),
            number(&maximum.latency, down)
        );
        out.push_str(&layout.paragraph("  ", &text, Paint::Plain));
    }
    out
}
