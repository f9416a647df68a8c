//! `--result`: writes the outcome of each script, and statistics of the queues of a network, as
//! JSON.

use std::path::Path;

use provenance::Began;
use report::page::document::{Document, Section, json};
use report::page::{Cell, Table};
use report::value::Value;
use statistics::Unit;
use stf::{QueueRecord, Report};

use super::{had_traffic, idle_statements, packets};
use crate::failure::Failure;
use crate::invocation;

/// The figures of all scripts.
pub(super) struct Figures {
    began: Began,
    scripts: Table,
    queues: Table,
}

fn count(number: u64) -> Cell {
    Cell::from(Value::new(number as f64, Unit::Count))
}

impl Figures {
    /// Creates the figures of a run in which no script has run yet.
    pub(super) fn new() -> Self {
        let of_scripts = ["script", "packets", "failures", "statements without effect"];
        let of_queues = [
            "queue",
            "script",
            "packets",
            "most waiting",
            "dropped at the full queue",
            "dropped at the full buffer",
            "dropped by RED",
            "dropped in egress",
            "marked (ECN)",
        ];
        Self {
            began: invocation::start(),
            scripts: Table::of_values("Scripts", of_scripts),
            queues: Table::of_values("Queues", of_queues),
        }
    }

    /// Adds the outcome of a script, and the statistics of those queues at which packets arrived.
    pub(super) fn add(&mut self, script: &Path, report: &Report) {
        let script = script.display().to_string();
        self.scripts.row([
            Cell::text(script.clone()),
            count(packets(report)),
            count(report.failures.len() as u64),
            count(idle_statements(report) as u64),
        ]);
        for record in report.queues.iter().filter(|record| had_traffic(record)) {
            let QueueRecord { end, switch, queue, counts } = record;
            let numbers = [
                counts.enqueued,
                u64::from(counts.deepest),
                counts.dropped_depth,
                counts.dropped_buffer,
                counts.dropped_red,
                counts.dropped_behind,
                counts.marked,
            ];
            let mut cells = vec![
                Cell::text(format!("queue {queue} of {switch}-p{}", end.port)),
                Cell::text(script.clone()),
            ];
            cells.extend(numbers.map(count));
            self.queues.row(cells);
        }
    }

    /// Writes the figures into a file.
    pub(super) fn write(self, file: &Path, program: &Path) -> Result<(), Failure> {
        let tables = [self.scripts, self.queues];
        let document = Document {
            kind: "stf",
            title: format!("Scripts of {}", program.display()),
            findings: Vec::new(),
            notes: Vec::new(),
            partial: None,
            claims: Vec::new(),
            sections: vec![Section {
                id: "scripts".to_owned(),
                title: "Scripts".to_owned(),
                tables: tables.into_iter().filter(|table| !table.is_empty()).collect(),
                ..Section::default()
            }],
            provenance: self.began.provenance(),
        };
        std::fs::write(file, json::to_json(&document))
            .map_err(|error| Failure::input(format!("--result {}: {error}", file.display())))
    }
}
