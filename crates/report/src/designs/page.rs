//! `report.html` of a comparison: the answer, the plots, the paper's Table 1, every case, the method.

use ::tables::UpdateMethod;
use ::tables::measure::{Measured, Operation};
use probe::metrics::Unit;

use super::{
    Run, answers, cost, design, lost, method, misses, not_offered, percentile, plots, rate,
    remarks, shape, shape_name, shapes, sharing, size, wall_rate,
};
use crate::format::{command_line, duration, estimate, figure, plural, printable, whole};
use crate::html::figure::{Numbering, row};
use crate::html::{escape, head, section};
use crate::put::put;

/// What the columns and figures mean.
const DEFINITIONS: [(&str, &str); 9] = [
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
        "Time of a whole call with as many keys as the settings say. One call in sixteen is timed.",
    ),
    (
        "Misses",
        "Misses of the last cache for each operation, by the threads themselves, in user space.",
    ),
    (
        "Lost",
        "Updates that were made and that the entries know nothing of when all is over. Designs that promise to lose none are \
         checked: a loss there fails the run. Digest promises nothing, also on one core: packets that meet an entry before \
         the controller's answer for it is back read the old number, and their answers overwrite each other.",
    ),
    (
        "Turns",
        "Cases of one size are in memory together and take turns within each repetition, so that drift of the machine meets \
         all of them. Each turn begins untimed, to find the caches as a table that runs alone would.",
    ),
    (
        "Dependent access",
        "A pointer chase through one cycle over all lines of a region in random order, huge pages where the kernel gives \
         them: half of each cache (a quarter of the last, which others share), and memory well beyond. The least of all rounds.",
    ),
];

/// The whole document.
#[must_use]
pub fn document(run: &Run<'_>) -> String {
    let findings = run.findings;
    let title = "Table designs side by side";
    let mut numbering = Numbering::default();
    let mut out = head(title);
    out.push_str(&header(run, title));
    out.push_str("<main>\n");
    section(&mut out, "figures", "Figures", &row(plots::figures(run), &mut numbering));
    section(&mut out, "methods", "Update methods (Table 1 of the paper)", &methods(run));
    section(&mut out, "cases", "All cases", &cases(run));
    let refused = not_offered(findings);
    if !refused.is_empty() {
        let mut list = String::from("<dl class=\"definitions\">\n");
        for (what, reason) in refused {
            put!(list, "<dt>{}</dt><dd>{}</dd>\n", escape(&what), escape(&reason));
        }
        list.push_str("</dl>\n");
        section(&mut out, "not-offered", "Not offered", &list);
    }
    section(&mut out, "method", "Method", &method_section(run));
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

fn header(run: &Run<'_>, title: &str) -> String {
    let findings = run.findings;
    let mut out = format!(
        "<header>\n<p class=\"kicker\">Planimeter {} · match-action tables</p>\n<h1>{title}</h1>\n",
        escape(&printable(run.version))
    );
    put!(
        out,
        "<p class=\"facts\"><span>{} of {}</span> · <span>started <time>{}</time>, took {}</span> · <span>seed {}</span></p>\n",
        plural(findings.settings.repetitions as u64, "turn", "turns"),
        escape(&plural(findings.measured.len() as u64, "case", "cases")),
        escape(run.started_at),
        escape(&duration(run.elapsed_s)),
        findings.settings.seed,
    );
    if findings.interrupted {
        let missing = plural(findings.unfinished.len() as u64, "case was", "cases were");
        put!(
            out,
            "<div class=\"card bad\" role=\"alert\"><p><b>This run is partial: it was interrupted.</b></p>\
             <p>{} not measured, and others have fewer turns than asked for.</p></div>\n",
            escape(&missing)
        );
    }
    for one in findings.broken_promises() {
        put!(
            out,
            "<div class=\"card bad\" role=\"alert\"><p><b>{} of {} updates are missing</b></p><p>{}, {}: a defect of \
             Planimeter, please report it.</p></div>\n",
            escape(&lost(one)),
            whole(one.updates),
            escape(&design(&one.case)),
            method(&one.case)
        );
    }
    let answers = answers(findings);
    if !answers.is_empty() {
        out.push_str("<div class=\"card good\">");
        for answer in answers {
            put!(out, "<p>{}</p>\n", escape(&answer));
        }
        out.push_str("</div>\n");
    }
    out.push_str("<ul class=\"notes\">\n");
    for remark in remarks(findings) {
        put!(out, "<li>{}</li>\n", escape(&remark));
    }
    out + "</ul>\n</header>\n"
}

/// The paper's Table 1: update methods at the largest size at which they were measured on one core.
fn methods(run: &Run<'_>) -> String {
    let is_method = |one: &&Measured| {
        one.case.cores == 1
            && one.case.operation == Operation::Update
            && one.case.design.update != UpdateMethod::Pointer
    };
    let measured = &run.findings.measured;
    let Some(largest) = measured.iter().filter(is_method).map(|one| one.case.layout.size()).max()
    else {
        return String::new();
    };
    let mut out = format!(
        "<div class=\"wide\"><table><caption>{} entries, one core; latency of one update alone</caption><thead><tr>\
         <th scope=\"col\" class=\"text\">method</th><th scope=\"col\" class=\"text\">design</th>\
         <th scope=\"col\">throughput, wall clock</th><th scope=\"col\">p25</th><th scope=\"col\">p50</th><th scope=\"col\">p75</th>\
         <th scope=\"col\">p99</th><th scope=\"col\">samples</th><th scope=\"col\" class=\"text\">waits for</th></tr></thead><tbody>\n",
        size(largest)
    );
    let unlocked = |one: &&Measured| {
        one.case.layout.size() == largest
            && one.case.cores == 1
            && one.case.operation == Operation::Update
            && one.case.design.entry_lock == ::tables::EntryLock::None
    };
    let mut rows: Vec<&Measured> = measured.iter().filter(unlocked).collect();
    rows.sort_by_key(|one| (one.case.design.update as u8, one.case.design.storage.to_string()));
    for one in rows {
        let waits = match (one.case.design.update, one.case.design.synchronisation) {
            (UpdateMethod::Digest, _) => "the controller, over loopback TCP",
            (
                UpdateMethod::Change,
                ::tables::Synchronisation::DoubleBuffer { wait: ::tables::Wait::Fixed(_) },
            ) => "a fixed time after each swap",
            (UpdateMethod::Change, ::tables::Synchronisation::DoubleBuffer { .. }) => {
                "workers to pass a quiescent state"
            }
            _ => "nothing",
        };
        put!(
            out,
            "<tr><th scope=\"row\">{}</th><td class=\"text\">{}</td><td>{}</td>",
            method(&one.case),
            escape(&design(&one.case)),
            escape(
                &wall_rate(one).map_or_else(String::new, |rate| estimate(&rate, Unit::PerSecond))
            )
        );
        for share in [0.25, 0.5, 0.75, 0.99] {
            put!(out, "<td>{}</td>", escape(&percentile(one.single.tail_at(share))));
        }
        put!(
            out,
            "<td>{}</td><td class=\"text\">{waits}</td></tr>\n",
            whole(one.single.len() as u64)
        );
    }
    out + "</tbody></table></div>\n<p class=\"remark\">The paper, 2<sup>20</sup> entries behind a packet generator: pointer \
           1.73 Mpps and 26.5 µs median, change 3.39 kpps and 322 µs, digest 4.1 kpps and 65.3 µs. Its latencies are those of \
           packets through a switch and its network cards, these of the table alone.</p>\n"
}

/// A row for each case, those of one size together.
fn cases(run: &Run<'_>) -> String {
    let findings = run.findings;
    let counted = findings.machine.counters.is_ok();
    let several = shapes(findings).len() > 1;
    let mut out = String::from(
        "<div class=\"wide\"><table class=\"points\"><caption>All cases</caption><thead><tr>",
    );
    for name in ["storage", "sharing", "method"] {
        put!(out, "<th scope=\"col\" class=\"text\">{name}</th>");
    }
    let misses_head = if counted { "misses/op" } else { "misses (not counted)" };
    for name in [
        "cores",
        "rate",
        "by wall",
        "cost",
        "p50",
        "p99",
        "p99.9",
        "call p50",
        "call p99",
        misses_head,
        "lost",
        "B/entry",
        "turns",
    ] {
        put!(out, "<th scope=\"col\">{name}</th>");
    }
    out.push_str("</tr></thead>\n");
    let group = |one: &Measured| (one.case.layout.size(), shape(one));
    for (entries, shape_of) in crate::describe::distinct(findings.measured.iter().map(group)) {
        let name = if several {
            format!("{} entries, {}", size(entries), shape_name(shape_of))
        } else {
            format!("{} entries", size(entries))
        };
        put!(out, "<tbody><tr><th scope=\"rowgroup\" colspan=\"16\">{}</th></tr>\n", escape(&name));
        for one in findings.measured.iter().filter(|one| group(one) == (entries, shape_of)) {
            case_row(&mut out, one);
        }
        out.push_str("</tbody>\n");
    }
    out + "</table></div>\n<p class=\"remark\">p50 to p99.9: latency of one operation alone. Call: time of a whole call. \
           B/entry: all that the table has allocated, its hash index too, over its filled entries.</p>\n"
}

fn case_row(out: &mut String, one: &Measured) {
    let case = &one.case;
    put!(
        out,
        "<tr><th scope=\"row\">{}</th><td class=\"text\">{}</td><td class=\"text\">{}</td><td>{}</td>",
        case.design.storage,
        escape(&sharing(case)),
        method(case),
        case.cores
    );
    let text = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
    let bytes = one.memory.total() as f64 / case.layout.size() as f64;
    let cells = [
        text(rate(one).map(|rate| estimate(&rate, Unit::PerSecond))),
        text(wall_rate(one).map(|rate| figure(rate.mean, Unit::PerSecond))),
        text(cost(one).map(|cost| estimate(&cost, Unit::Seconds))),
        percentile(one.single.tail_at(0.5)),
        percentile(one.single.tail_at(0.99)),
        percentile(one.single.tail_at(0.999)),
        percentile(one.call.tail_at(0.5)),
        percentile(one.call.tail_at(0.99)),
        text(misses(one).map(|misses| figure(misses.mean, Unit::Count))),
    ];
    for cell in cells {
        put!(out, "<td>{}</td>", escape(&cell));
    }
    let class = if one.broke_its_promise() { " class=\"bad\"" } else { "" };
    put!(
        out,
        "<td{class}>{}</td><td>{}</td><td>{}</td></tr>\n",
        escape(&lost(one)),
        escape(&figure(bytes, Unit::Count)),
        one.turns.len()
    );
}

fn method_section(run: &Run<'_>) -> String {
    let (settings, machine) = (&run.findings.settings, &run.findings.machine);
    let on = settings.cores.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let caches = machine.caches.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let mut rows = vec![
        ("Command", command_line(run.command)),
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
    let host = run.host;
    rows.extend([
        ("Host", printable(&host.hostname)),
        ("Processor", printable(&host.cpu_model)),
        ("Kernel", printable(&host.kernel)),
        ("Memory", figure(host.memory_bytes as f64, Unit::Bytes)),
    ]);
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
    out.push_str("</dl>\n<h3>Files beside this report</h3>\n<table class=\"text\"><tbody>\n");
    for (name, content) in [
        ("result.json", "everything here and every turn, by a versioned schema"),
        ("cases.csv", "a row for each case"),
        (
            "histograms/",
            "times of single operations by case: .hlog (nanoseconds), .hgrm (microseconds)",
        ),
    ] {
        put!(
            out,
            "<tr><th scope=\"row\"><code>{name}</code></th><td class=\"text prose\">{content}</td></tr>\n"
        );
    }
    out.push_str("</tbody></table>\n");
    out
}
