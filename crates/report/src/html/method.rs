//! Builds the section of a report that describes how a controller benchmark was measured: windows,
//! counts, seeds, definitions, host, configuration and files.

use probe::config::Load;
use probe::outcome::{RunResult, Trial};
use statistics::Unit;

use crate::describe;
use crate::estimates::usable;
use crate::format::{duration, figure, plural, printable};
use crate::page::{Block, Column, Page, Table, Text};

/// The definition of each figure in the report.
const DEFINITIONS: [(&str, &str); 17] = [
    (
        "Offered, due",
        "In open loop every packet-in has a due time that is fixed before the trial starts; answers, or their \
         absence, change nothing. Offered is what was due in the measure window.",
    ),
    (
        "Sent",
        "The sent rate counts packet-ins that left in the measure window, whenever they were due; the count of \
         sent ones holds those that were due in it, whenever they left. Fewer than due means that the probe, or a \
         connection that took no more, fell behind.",
    ),
    (
        "Received, answered",
        "A packet-in is answered by {answer}. The received rate counts answers that arrived in the \
         window; the count of answered packet-ins includes those that came after it.",
    ),
    (
        "Loss",
        "Of the packet-ins that were due in the window and left, the share that had no answer when the trial ended, after \
         the drain time.",
    ),
    (
        "Round-trip time from due",
        "From the moment a packet-in was due to the arrival of its answer. Time that it waited in the probe \
         counts, so that a stalled controller cannot hide behind packet-ins that were held back (coordinated \
         omission).",
    ),
    (
        "Round-trip time from sent",
        "From the moment a packet-in left to the arrival of its answer: the definition of the P4RCProbe paper.",
    ),
    (
        "Behind schedule",
        "How much later than due packet-ins left. The schedule holds as long as this is small against the round-trip time.",
    ),
    (
        "Percentiles",
        "Read from HDR histograms with three significant digits; each value is recorded, none is sampled. \
         A percentile is stated only where a sample lies beyond it: p99.9 needs 1,000 samples. \
         Over trials, the mean of the percentiles of each trial is given.",
    ),
    (
        "Read delay",
        "For how long an answer that arrived at some moment may have waited in the socket until the probe read it: nothing \
         while the probe slept, since an answer wakes it, and else the time between its two looks. A percentile is a share \
         of the time of the measure window. At most this part of a round-trip time is the probe's own.",
    ),
    (
        "Late, duplicated, unmatched",
        "Late: answered, but after the limit for late answers. Duplicated: further answers to one packet-in. \
         Unmatched: packet-outs that answer no packet-in and are not discovery frames.",
    ),
    (
        "Unsent, unanswered",
        "Unsent: due by the schedule, and never left: the switch had no connection, the controller did not read, \
         or the probe did not send it in time. Unanswered: lost and unsent, as a share of what was due. Round-trip \
         times \
         hold neither.",
    ),
    (
        "Forwarded, dropped by rules",
        "Where switches run their tables: packets that were due and that the controller's rules sent out of a \
         port, or dropped, so that they became no packet-ins. They are neither sent nor lost nor outstanding.",
    ),
    (
        "Rules",
        "Flow-mods that add or modify, or table entries inserted or modified by Write, counted apart from answers.",
    ),
    ("Outstanding", "Packet-ins sent and not answered yet, at each sample."),
    (
        "Fairness",
        "Jain's index of the answered packet-ins over switches: 1 if all got the same, 1/n if one of n got all.",
    ),
    (
        "CPU, memory",
        "CPU in percent of one core over the measure window, so that four busy cores are 400. Memory is the \
         largest resident set.",
    ),
    (
        "Confidence",
        "The interval that holds the mean with 95 % confidence, by Student's t over the trials; bars in plots \
         are the same. It ends at what is possible, such as 0 or 100 %. One trial has none.",
    ),
];

/// The files in the run directory of a controller benchmark, and what they contain.
const FILES: [(&str, &str); 7] = [
    ("result.json", "everything here and the series of every switch, by a versioned schema"),
    ("summary.csv", "a row per point: mean, interval and n of each metric"),
    ("per_second.csv", "sent, received and rules in each second of each trial"),
    ("samples.csv", "outstanding packet-ins, CPU and memory over time"),
    ("per_switch.csv", "a row per switch of each trial"),
    (
        "histograms/",
        "raw histograms: .hlog (HDR interval log, nanoseconds), .hgrm (percentile distribution, microseconds)",
    ),
    ("config.toml", "the configuration as resolved"),
];

/// Adds the section about the method to the page of a controller benchmark.
pub(super) fn add(page: &mut Page, result: &RunResult, configuration: &str) {
    let load = Load::of(&result.configuration);
    let meaning = |text: &str| load.words(text).replace("{answer}", load.answer());
    let mut own = vec![trials(result), Block::Heading("Configuration as resolved".to_owned())];
    own.extend(configured(result, configuration));
    let definitions = DEFINITIONS.map(|(term, text)| (term, meaning(text)));
    let files = FILES.map(|(name, text)| (name, load.words(text)));
    page.method(own, Some(&result.provenance.host), definitions, files);
}

/// Returns the table that describes how the trials were made.
fn trials(result: &RunResult) -> Block {
    let all: Vec<&Trial> = result.points.iter().flat_map(|p| &p.trials).collect();
    let mut rows = vec![("Trials", describe::effort(result))];
    if let Some(first) = result.points.iter().flat_map(usable).next() {
        let series = &first.series;
        rows.push((
            "Measure window",
            format!(
                "{} to {} after the first packet was due (trial {}); what comes before is warm-up and counts for nothing",
                duration(series.measure_from_s),
                duration(series.measure_to_s),
                first.repetition
            ),
        ));
        rows.push((
            "Samples of CPU, memory and outstanding",
            format!("every {}", figure(series.sample_interval_s, Unit::Seconds)),
        ));
        let seeds = describe::distinct(all.iter().map(|t| t.seed));
        let shown: Vec<String> = seeds.iter().take(8).map(u64::to_string).collect();
        let more = if seeds.len() > shown.len() {
            format!(" and {} more", seeds.len() - shown.len())
        } else {
            String::new()
        };
        rows.push((
            "Seeds",
            format!(
                "{}{more}; with the same seed the same packets are due at the same times",
                shown.join(", ")
            ),
        ));
        let samples: u64 = all.iter().map(|t| t.rtt_from_due.samples).sum();
        rows.push(("Round-trip times recorded", plural(samples, "sample", "samples")));
    }
    rows.push(("Length of the run", duration(result.provenance.elapsed_s)));
    let cpu =
        result.controller.process.as_deref().map_or_else(|| "not observed".to_owned(), printable);
    rows.push(("Controller process", cpu));
    Block::facts(rows)
}

fn configured(result: &RunResult, configuration: &str) -> Vec<Block> {
    let mut keys = Table::new("", [Column::words("key"), Column::prose("value")]);
    for (key, value) in &result.configuration {
        keys.row([Text::code(printable(key)), Text::code(printable(value))]);
    }
    let folded = |id: &str, summary: &str, block: Block| Block::Folded {
        id: Some(id.to_owned()),
        summary: summary.into(),
        blocks: vec![block],
    };
    vec![
        folded("configuration", "config.toml", Block::Listing(configuration.to_owned())),
        // Printed pages omit this table, since the listing of the configuration has the same
        // content in a shorter form.
        folded("configuration-keys", "Key by key", Block::Table(keys)),
    ]
}
