//! The section of the report on groups of action selectors.

use ::dut::groups::{Assessment, Distribution, Measured, TOLERANCE};
use report::page::document::{Document, Section};
use report::page::{Cell, Table};
use report::value::Value;
use statistics::Unit;

/// Adds the results on groups to a report: findings, a section, and the reasons why groups were not
/// measured.
pub(super) fn add(document: &mut Document, found: &Measured) {
    document.notes.extend(found.reasons.iter().map(|reason| format!("groups: {reason}")));
    if found.groups.is_empty() {
        return;
    }
    document.findings.extend(found.groups.iter().flat_map(findings));
    document.sections.push(section(found));
}

/// Returns sentences about how packets are distributed over the members of a group, and about flows
/// that reached no member.
fn findings(group: &Distribution) -> Vec<String> {
    let name = &group.name;
    let mut findings = Vec::new();
    let Some(assessed) = group.assess() else {
        return vec![format!("groups: {name}: no flow left by the port of a member.")];
    };
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let shares = assessed.shares.iter().zip(&group.ports);
    if assessed.is_fault() {
        let off = shares.filter(|(share, _)| share.is_off).map(|(share, port)| {
            format!(
                "port {port} {} instead of {}",
                percent(share.measured),
                percent(share.expected)
            )
        });
        let off: Vec<String> = off.collect();
        findings.push(format!(
            "groups: {name}: the shares of members differ from their weights: {}.",
            off.join(", ")
        ));
    } else {
        let most = shares.map(|(share, _)| (share.measured - share.expected).abs());
        findings.push(format!(
            "groups: {name}: shares differ from the weights of the {} members by {:.1} percentage points at most.",
            group.ports.len(),
            most.fold(0.0, f64::max) * 100.0
        ));
    }
    if group.changed > 0 {
        findings.push(format!(
            "groups: {name}: {} flows changed their member from one packet to the next.",
            group.changed
        ));
    }
    if group.lost > 0 {
        findings.push(format!(
            "groups: {name}: packets of {} flows were lost or left by no member's port.",
            group.lost
        ));
    }
    findings
}

fn section(found: &Measured) -> Section {
    Section {
        id: "groups".to_owned(),
        title: "Groups".to_owned(),
        text: vec![format!(
            "Two packets of each random flow were sent. A share is that of the flows whose packets left by the port of a \
             member; its bounds hold for all members together with 98 % confidence. Shares are a fault if the chi-square test \
             rejects the weights with a probability below one in a million, and a share differs certainly by more than {} \
             of all flows, which a table of 16 hash values may.",
            TOLERANCE
        )],
        tables: vec![shares(found), flows(found)],
        ..Section::default()
    }
}

fn shares(found: &Measured) -> Table {
    let columns =
        ["group", "port", "weight", "share by weight", "share", "at least", "at most", "flows"];
    let mut table = Table::of_values("Shares of members", columns);
    for group in &found.groups {
        let assessed = group.assess();
        let shares = assessed.iter().flat_map(|found: &Assessment| &found.shares);
        for ((port, weight), share) in group.ports.iter().zip(&group.weights).zip(shares) {
            let fraction = |share: f64| Cell::from(Value::new(share, Unit::Fraction));
            table.row([
                Cell::text(group.name.as_str()),
                Cell::text(port.to_string()),
                Value::new(f64::from(*weight), Unit::Count).into(),
                fraction(share.expected),
                fraction(share.measured),
                fraction(share.interval.low),
                fraction(share.interval.high),
                Value::new(share.flows as f64, Unit::Count).into(),
            ]);
        }
    }
    table
}

fn flows(found: &Measured) -> Table {
    let columns =
        ["group", "flows", "changed their member", "lost or astray", "chi-square", "probability"];
    let mut table = Table::of_values("Flows", columns);
    let count = |count: u64| Cell::from(Value::new(count as f64, Unit::Count));
    for group in &found.groups {
        let fit = group.assess().map(|found| found.fit);
        table.row([
            Cell::text(group.name.as_str()),
            count(group.counts.iter().sum::<u64>() + group.changed + group.lost),
            count(group.changed),
            count(group.lost),
            Cell::optional(fit.map(|fit| Value::new(fit.statistic, Unit::Count))),
            Cell::optional(fit.map(|fit| Value::new(fit.probability, Unit::Fraction))),
        ]);
    }
    table
}
