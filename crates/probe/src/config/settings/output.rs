//! The settings for where results are written.

use super::{BASE, Kind, Setting};

pub(in crate::config) static SETTINGS: &[Setting] = &[
    Setting {
        key: "output.directory",
        flag: "output",
        short: Some('o'),
        value_name: "FOLDER",
        example: "runs/onos-2.5",
        summary: "Directory of the results",
        manual: "It must not exist, or be empty. Without it, a new directory is made under runs/ \
            in the current one. It receives report.html, result.json, histograms and the \
            configuration as resolved.",
        slot: |draft| &mut draft.output.directory,
        ..BASE
    },
    Setting {
        key: "output.quiet",
        flag: "quiet",
        short: Some('q'),
        value_name: "BOOLEAN",
        kind: Kind::Flag,
        default: "false",
        example: "true",
        summary: "No progress bar",
        manual: "No progress bar is shown either if standard error is not a terminal.",
        slot: |draft| &mut draft.output.quiet,
        ..BASE
    },
    Setting {
        key: "output.json",
        flag: "json",
        value_name: "BOOLEAN",
        kind: Kind::Flag,
        default: "false",
        example: "true",
        summary: "Print result.json on standard output instead of a table",
        manual: "For scripts. Everything else is written to standard error.",
        slot: |draft| &mut draft.output.json,
        ..BASE
    },
];
