//! The report of a search for the costliest paths.

use std::collections::BTreeMap;

use pipeline::Path;
use provenance::Provenance;
use report::page::document::{Document, Section};
use report::page::{Cell, Table};
use report::value::Value;
use statistics::{Interval, Unit};
use symbolic::goals::Goal;

use super::costs::{Costs, Origin, kind_costs};
use super::findings::{Findings, Measured, Predicted, actions};
use super::work::{Kind, Packet, Work};

/// Returns the report of the search on all execution paths of a program.
pub(super) fn document(
    name: &str,
    (goals, work): (&[Goal], &Work),
    findings: &[Findings],
    provenance: Provenance,
) -> Document {
    let measured = findings.iter().filter(|one| one.refused.is_none());
    let mut document = Document {
        kind: "bench",
        title: format!("The costliest packets of {name}"),
        findings: findings.iter().flat_map(verdicts).collect(),
        notes: notes(findings),
        partial: None,
        claims: Vec::new(),
        sections: measured.map(|one| section((goals, work), one)).collect(),
        provenance,
    };
    for Findings { path, refused, predicted, .. } in findings {
        match refused {
            Some(why) => {
                document.lacks(&format!("{} was not measured: {why}", words(*path)));
            }
            None if predicted.is_empty() => {
                document.lacks(&format!("no costly path was measured on {}", words(*path)));
            }
            None => {}
        }
    }
    document
}

/// Returns STF scripts that reproduce the packets of the costliest paths, by file name.
pub(super) fn scripts(findings: &[Findings]) -> Vec<(String, String)> {
    let mut scripts = Vec::new();
    for one in findings {
        let names = names(one);
        let predicted = one.predicted.iter().zip(names);
        scripts.extend(predicted.map(|(one, name)| (name, one.measured.packet.test.stf())));
        if let Some(packet) = costlier(one) {
            scripts.push((costlier_name(one.path), packet.packet.test.stf()));
        }
    }
    scripts
}

/// Returns the file names of the scripts, one for each predicted path.
fn names(findings: &Findings) -> Vec<String> {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    let name = |one: &Predicted| {
        let count = counts.entry(one.length).or_default();
        *count += 1;
        format!("worst-{}-{}-{count}.stf", key(findings.path), one.length)
    };
    findings.predicted.iter().map(name).collect()
}

fn costlier_name(path: Path) -> String {
    format!("costlier-{}.stf", key(path))
}

fn key(path: Path) -> &'static str {
    match path {
        Path::Interpreter => "interpreter",
        Path::Compiled => "compiled",
    }
}

fn words(path: Path) -> &'static str {
    match path {
        Path::Interpreter => "the interpreter",
        Path::Compiled => "machine code",
    }
}

/// Returns the measured packet that takes the most cycles, if it takes more than the packet that
/// was predicted to be the costliest, although it is no longer.
fn costlier(findings: &Findings) -> Option<&Measured> {
    let worst = &findings.worst()?.measured;
    let most =
        findings.comparable(worst).max_by(|one, other| one.cycles.total_cmp(&other.cycles))?;
    (most.cycles > worst.cycles).then_some(most)
}

/// Returns sentences about the path with the largest prediction: the cycles that it was measured to
/// take, and whether the measurements distinguish it from the next paths.
pub(super) fn verdicts(findings: &Findings) -> Vec<String> {
    let Some(worst) = findings.worst() else { return Vec::new() };
    let names = names(findings);
    let largest = findings.largest.as_ref();
    let name_of = |position: usize| names.get(position).map_or("?", String::as_str);
    let name = largest.map_or("?", |largest| name_of(largest.position));
    let all = findings.comparable(&worst.measured).count();
    let place = match findings.place(&worst.measured) {
        1 => "the costliest".to_owned(),
        place => format!("number {place} in cost"),
    };
    let mut first = format!(
        "On {}, the path that is predicted to cost most ({name}) is predicted to take {:.0} cycles{} and takes {:.0}; it is \
         {place} of {all} packets that were measured and are not longer",
        words(findings.path),
        worst.prediction.cost,
        in_words(worst.prediction.interval),
        worst.measured.cycles,
    );
    if let Some(packet) = costlier(findings) {
        let told = match packet.may_equal(&worst.measured) {
            true => ", which the measurement does not tell apart",
            false => "",
        };
        first += &format!(
            ", of which the costliest ({}) takes {:.0} cycles{told}",
            costlier_name(findings.path),
            packet.cycles
        );
    }
    first.push('.');
    let mut verdicts = vec![first];
    verdicts.extend(undetermined(findings.path, worst));
    let ties: Vec<&str> = largest
        .map_or(&[][..], |largest| largest.ties.as_slice())
        .iter()
        .map(|at| name_of(*at))
        .collect();
    verdicts.push(match (findings.origin, ties.as_slice()) {
        (Origin::Model, _) => format!(
            "The model states no interval for {}, so whether another path costs more within its error is not known.",
            words(findings.path)
        ),
        (Origin::Fit, []) => format!(
            "On {}, every other predicted path is predicted to cost less, by more than the intervals.",
            words(findings.path)
        ),
        (Origin::Fit, ties) => format!(
            "On {}, the data do not tell {name} from {} other predicted paths, whose intervals overlap with its own: {}.",
            words(findings.path),
            ties.len(),
            ties.join(", ")
        ),
    });
    verdicts
}

/// Returns a sentence about the kinds of work whose costs the generated packets do not determine.
fn undetermined(path: Path, worst: &Predicted) -> Option<String> {
    let kinds = worst.prediction.undetermined.iter().filter_map(|at| Kind::ALL.get(*at));
    let kinds: Vec<&str> = kinds.map(|kind| kind.name()).collect();
    (!kinds.is_empty()).then(|| {
        format!(
            "On {}, this prediction is not determined: the generated packets do not tell apart the costs of {}.",
            words(path),
            kinds.join(", ")
        )
    })
}

fn in_words(interval: Option<Interval>) -> String {
    interval.map_or_else(String::new, |Interval { low, high }| format!(" ({low:.0} to {high:.0})"))
}

/// Returns the assumptions behind the figures, and remarks on packets that were not measured.
pub(super) fn notes(findings: &[Findings]) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(one) = findings.iter().find(|one| one.frequency > 0.0) {
        notes.push(format!(
            "Cycles are those of the processor's time-stamp counter, which counts {:.3} GHz whatever the frequency of the core. \
             They cover a packet from the parser to the deparser, on its path and on no other.",
            one.frequency / 1e9
        ));
    }
    notes.push(
        "Measured cycles are medians over turns of 512 copies of one packet on one core, so caches and branch predictors are \
         warm. All packets alternate, and turns that an interrupt lengthens lie above the median."
            .to_owned(),
    );
    notes.push(
        "Tables have only the entries of a packet's own test, whose numbers are in the tables below: lookups hit the first \
         levels of the cache. Full tables cost more, which --entries measures."
            .to_owned(),
    );
    let has = |origin: Origin| findings.iter().any(|one| one.origin == origin);
    if has(Origin::Fit) {
        notes.push(
            "The bound is proved under the fitted costs, for tables and caches in the state above: no feasible path of packets \
             of this length has a larger sum. It says nothing about costs that the fit does not know."
                .to_owned(),
        );
        notes.push(
            "The interval of a prediction comes from generated packets that were predicted without themselves. It typically \
             contains 95 % of packets that resemble them, and at least about 90 %."
                .to_owned(),
        );
    }
    if has(Origin::Model) {
        notes.push(
            "Costs are those of the device model at the median, and nothing was fitted to packets. The bound is proved under \
             these costs, which stand for the occupancy of tables and the packets with which the model was measured."
                .to_owned(),
        );
    }
    for one in findings {
        let remarks = one.remarks.iter();
        notes.extend(remarks.map(|remark| format!("On {}: {remark}", words(one.path))));
    }
    notes
}

fn section((goals, work): (&[Goal], &Work), findings: &Findings) -> Section {
    let names = names(findings);
    let packets: Vec<Packet> =
        findings.generated.iter().map(|measured| measured.packet.clone()).collect();
    let mut tables = vec![paths(goals, findings, &names)];
    if let Some(Costs::Fitted(fit)) = &findings.costs {
        let columns = ["kind of work", "cycles", "least", "most"];
        let mut table = Table::of_values("Fitted costs, and counts in generated packets", columns);
        table.row([
            Cell::text("a packet"),
            Cell::from(tenths(fit.constant())),
            Cell::default(),
            Cell::default(),
        ]);
        for kind in kind_costs(fit, work, &packets) {
            table.row([
                Cell::text(kind.kind.name()),
                Cell::optional(kind.cost.map(tenths)),
                Cell::from(tenths(kind.least)),
                Cell::from(tenths(kind.most)),
            ]);
        }
        tables.push(table);
    }
    let of = findings.generated.len();
    let origin = match findings.origin {
        Origin::Fit => format!(
            "Costs are fitted to the cycles of {of} generated packets, none of which is predicted. An empty cost is part of \
             that of a packet, because all packets have as much of the kind."
        ),
        Origin::Model => {
            format!("Costs are those of the device model, compared with {of} generated packets.")
        }
    };
    let error = match findings.error {
        Some(error) => format!(" The median error of their prediction is {:.1} %.", 100.0 * error),
        None => {
            " There are too few different packets to state the error of predictions.".to_owned()
        }
    };
    let links = names.into_iter().map(|name| (format!("The packet and entries of {name}"), name));
    let mut links: Vec<(String, String)> = links.collect();
    if costlier(findings).is_some() {
        let name = costlier_name(findings.path);
        links.push(("The costliest packet that was measured".to_owned(), name));
    }
    Section {
        id: format!("worst-{}", key(findings.path)),
        title: format!("On {}", words(findings.path)),
        text: vec![origin + &error],
        tables,
        links,
        ..Section::default()
    }
}

/// Returns the table of the paths that were predicted to be the costliest.
fn paths(goals: &[Goal], findings: &Findings, names: &[String]) -> Table {
    let columns = [
        "script",
        "bytes",
        "predicted",
        "at least",
        "at most",
        "bound",
        "measured",
        "place",
        "entries",
        "actions",
    ];
    let mut table = Table::of_values("Cycles of the costliest paths", columns);
    for (one, name) in findings.predicted.iter().zip(names) {
        let Predicted { measured, length, prediction, bound } = one;
        let packet = &measured.packet;
        table.row([
            Cell::text(name.as_str()),
            Cell::from(whole(f64::from(*length))),
            Cell::from(whole(prediction.cost)),
            Cell::optional(prediction.interval.map(|interval| whole(interval.low))),
            Cell::optional(prediction.interval.map(|interval| whole(interval.high))),
            Cell::from(whole(*bound)),
            Cell::from(whole(measured.cycles)),
            Cell::from(whole(findings.place(measured) as f64)),
            Cell::from(whole(packet.test.entries.len() as f64)),
            Cell::text(actions(goals, &packet.reached)),
        ]);
    }
    table
}

/// Returns a value that is shown without decimals.
fn whole(number: f64) -> Value {
    Value::new(number.round(), Unit::Count)
}

/// Returns a value that is shown with one decimal.
fn tenths(number: f64) -> Value {
    Value::new((number * 10.0).round() / 10.0, Unit::Count)
}
