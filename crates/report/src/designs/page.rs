//! Builds the `report.html` of a comparison of table designs: the answer, the plots, Table 1 of the
//! paper, every case, and the method.

use ::tables::measure::Measured;
use statistics::Unit;

use super::{
    Run, alarms, answers, cost, lost, method, methods, misses, not_offered, percentile, plots,
    rate, remarks, shape, shapes, sharing, size, stated, wall_rate,
};
use crate::describe::distinct;
use crate::format::{duration, estimate, figure, plural, printable};
use crate::page::{Block, Cell, Column, Page, Table, Text, Tone};

/// The definitions of columns and figures, which the page lists.
const DEFINITIONS: [(&str, &str); 11] = [
    (
        "The paper",
        "M. Simon et al., High-Performance Match-Action Table Updates from within Programmable Software Data Planes, ANCS 2021.",
    ),
    (
        "Rate",
        "Operations per second, all cores together. Each reads a number in an entry and writes the next one (or only reads, \
         where it says so). Entries are drawn uniformly; the order depends on the seed alone. The mean over turns with its \
         95 % confidence interval by Student's t.",
    ),
    (
        "Clock",
        "For designs that never wait, time is processor time of the threads, so that time which other processes took from \
         a core does not count; for change through two replicas and for digest it is the wall clock. The column \"by wall\" and \
         the table of update methods have the wall clock for all. result.json has both, \
         and the share of the time in which the threads had their cores.",
    ),
    ("Cost", "Nanoseconds of one core for each operation: cores over rate."),
    (
        "Latency of one update",
        "Calls with one key, one at a time: from the call until the table has the change; for a digest, until the \
         controller's answer, which comes back through loopback TCP, has been written. Nothing is prefetched and nothing \
         overlaps, so that it is longer than the cost. The cost of reading the clock is subtracted. All samples of all \
         turns count; a percentile with fewer than one sample beyond it is a dash.",
    ),
    (
        "Time of a call",
        "Time of a batch lookup with the number of keys in the settings. One call in sixteen is timed.",
    ),
    (
        "Misses",
        "Misses of the last-level cache for each operation, by the threads themselves, in user space.",
    ),
    (
        "Lost",
        "Updates that are missing in the entries at the end. Designs that must not lose updates are checked: a loss \
         there fails the run. Digest may lose updates, also on one core: packets that hit an entry before the \
         controller's answer arrives read the old number, and their answers overwrite each other.",
    ),
    (
        "Turns",
        "Cases of one size are in memory together and take turns within each repetition, so that drift of the \
         machine affects all of them. Each turn begins with an untimed part, which fills the caches as for a table \
         that runs alone.",
    ),
    (
        "Dependent access",
        "A pointer chase through one cycle over all lines of a region in random order, on huge pages where the \
         kernel provides them. Regions have half the size of each cache (less of the last-level cache, which is \
         shared), and a size well beyond all caches. The figure is the least of all rounds.",
    ),
    (
        "Caches",
        "As the processor reports them, but the size of the last one is measured: that of the largest region in which \
         less than a quarter of dependent accesses take the latency of memory.",
    ),
];

/// Returns the `report.html` of a comparison of table designs, as the text of an HTML document.
#[must_use]
pub fn document(run: &Run<'_>) -> String {
    page(run).html()
}

/// Returns the report page of a comparison of table designs.
#[must_use]
pub fn page(run: &Run<'_>) -> Page {
    let findings = run.findings;
    let title = "Table designs side by side";
    let mut page = Page::of_run(run.provenance, "match-action tables", title);
    lead(&mut page, run);
    page.section("figures", "Figures", vec![Block::Figures(plots::figures(run))]);
    page.section("methods", "Update methods (Table 1 of the paper)", methods::blocks(findings));
    page.section("cases", "All cases", cases(run));
    page.section("not-offered", "Not offered", vec![Block::definitions(not_offered(findings))]);
    let files = [
        ("result.json", "everything here and every turn, by a versioned schema"),
        ("cases.csv", "a row for each case"),
        (
            "histograms/",
            "times of single operations by case: .hlog (nanoseconds), .hgrm (microseconds)",
        ),
    ];
    page.method(vec![setting(run)], Some(&run.provenance.host), DEFINITIONS, files);
    page
}

/// Adds to the top of a page the extent of the run, alarms if the run is incomplete or a design has
/// lost updates that it must keep, the findings, and remarks.
fn lead(page: &mut Page, run: &Run<'_>) {
    let findings = run.findings;
    page.fact(format!(
        "{} of {}",
        plural(findings.settings.repetitions as u64, "turn", "turns"),
        plural(findings.measured.len() as u64, "case", "cases")
    ));
    page.fact(format!("seed {}", findings.settings.seed));
    page.raise(alarms(run));
    let answers = answers(findings).into_iter().map(Text::from).collect();
    page.lead(Block::Card(Tone::Good, answers));
    page.lead(Block::Notes(remarks(findings)));
}

/// Returns tables with a row for each case. Cases with the same number of entries follow each
/// other.
fn cases(run: &Run<'_>) -> Vec<Block> {
    let findings = run.findings;
    let several = shapes(findings).len() > 1;
    // Columns that are equal for all cases, or unknown, would only make the table too wide.
    let counted = findings.machine.counters.is_ok();
    let turns = |one: &Measured| one.turns.len();
    let uneven = distinct(findings.measured.iter().map(turns)).len() > 1;
    let mut figures =
        vec!["cores", "rate", "by wall", "cost", "p50", "p99", "p99.9", "call p50", "call p99"];
    figures.extend(counted.then_some("misses/op"));
    figures.extend(["lost", "B/entry"]);
    figures.extend(uneven.then_some("turns"));
    let columns = ["storage", "sharing", "method"].map(Column::words).into_iter();
    let mut table =
        Table::new("All cases", columns.chain(figures.into_iter().map(Column::figures)));
    let group = |one: &Measured| (one.case.layout.size(), shape(one));
    for (entries, shape_of) in distinct(findings.measured.iter().map(group)) {
        table.group(if several {
            format!("{} entries, {}", size(entries), shape_of)
        } else {
            format!("{} entries", size(entries))
        });
        for one in findings.measured.iter().filter(|one| group(one) == (entries, shape_of)) {
            table.row(case_row(one, counted, uneven));
        }
    }
    let remark = "p50 to p99.9: latency of one operation alone, the mean over turns with its 95 % confidence interval; \
                  without one, of all turns together, as a turn has too few samples. Call: time of a whole call. B/entry: all \
                  that the table has allocated, its hash index too, over its filled entries.";
    vec![Block::Table(table), Block::Remark(remark.into())]
}

fn case_row(one: &Measured, counted: bool, uneven: bool) -> Vec<Cell> {
    let case = &one.case;
    let text = |value: Option<String>| Cell::from(value.unwrap_or_else(|| "–".to_owned()));
    let bytes = one.memory.total() as f64 / case.layout.size() as f64;
    let tone = if one.broke_its_promise() { Tone::Bad } else { Tone::Plain };
    let [p50, p99, p999] = one.percentiles();
    let mut cells = vec![
        case.design.storage.to_string().into(),
        sharing(case).into(),
        method(case).into(),
        case.cores.to_string().into(),
        text(rate(one).map(|rate| estimate(&rate, Unit::PerSecond))),
        text(wall_rate(one).map(|rate| figure(rate.mean, Unit::PerSecond))),
        text(cost(one).map(|cost| estimate(&cost, Unit::Seconds))),
        stated(p50.as_ref()).into(),
        stated(p99.as_ref()).into(),
        stated(p999.as_ref()).into(),
        percentile(one.call.tail_at(0.5)).into(),
        percentile(one.call.tail_at(0.99)).into(),
    ];
    let misses = || text(misses(one).map(|misses| figure(misses.mean, Unit::Count)));
    cells.extend(counted.then(misses));
    cells.extend([Cell::toned(tone, lost(one)), figure(bytes, Unit::Count).into()]);
    cells.extend(uneven.then(|| one.turns.len().to_string().into()));
    cells
}

/// Returns the table of the settings and the machine.
fn setting(run: &Run<'_>) -> Block {
    let (settings, machine) = (&run.findings.settings, &run.findings.machine);
    let on = settings.cores.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let caches = machine.caches.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let rows = vec![
        ("Seed", settings.seed.to_string()),
        (
            "Turns",
            format!(
                "{} of {} after {} untimed, and a quarter of that for single operations",
                settings.repetitions,
                duration(settings.time.as_secs_f64()),
                duration(settings.warm_up.as_secs_f64())
            ),
        ),
        (
            "Calls",
            format!(
                "{}{}",
                plural(settings.batch as u64, "key", "keys"),
                if settings.announce { ", after a prefetch of the next call's keys" } else { "" }
            ),
        ),
        ("Fill", figure(settings.fill, Unit::Fraction)),
        (
            "Cores",
            match &machine.pinned {
                Ok(()) => format!("{on}; threads are pinned in this order"),
                Err(reason) => format!("not pinned: {}", printable(reason)),
            },
        ),
        ("Caches", caches),
        (
            "Dependent access",
            machine
                .latencies
                .iter()
                .map(|(name, latency)| {
                    format!(
                        "{name} {:.1} ns (median {:.1}; {}, {})",
                        latency.nanoseconds,
                        latency.median,
                        figure(latency.bytes as f64, Unit::Bytes),
                        latency.pages
                    )
                })
                .collect::<Vec<_>>()
                .join("; "),
        ),
        (
            "Cache misses",
            match &machine.counters {
                Ok(()) => "counted by the processor, user space".to_owned(),
                Err(reason) => format!("not counted: {reason}"),
            },
        ),
    ];
    Block::facts(rows)
}
