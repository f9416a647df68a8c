//! Tests of the run directory, which has the report, the results and the settings of a run.

use std::fs;

use report::{RunDirectory, json};

use crate::support;

#[test]
fn every_file_is_there_and_readable() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let mut directory = RunDirectory::create(Some(&root.path().join("run"))).expect("made");
    directory.write_configuration("seed = 1 # <here>\n").expect("written");
    let result = support::figure_7();
    let partial = directory.write_partial(&result).expect("written");
    assert!(partial.ends_with("result.json") && partial.exists());
    let written = directory.write(&result).expect("written");
    for name in [
        "result.json",
        "report.html",
        "summary.csv",
        "per_second.csv",
        "samples.csv",
        "per_switch.csv",
    ] {
        let path = directory.path().join(name);
        assert!(written.contains(&path) && path.metadata().expect("there").len() > 0, "{name}");
    }
    // There are three trials with four kinds of times in two formats.
    let histograms = directory.path().join("histograms/point-01_p4runtime_50-switches_50-per-s");
    let mut names: Vec<_> = fs::read_dir(&histograms)
        .expect("there")
        .map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names.len(), 24, "{names:?}");
    assert_eq!(names[0], "trial-01_read_delay.hgrm");
    assert_eq!(names[1], "trial-01_read_delay.hlog");
    let text = fs::read_to_string(directory.path().join("result.json")).expect("readable");
    let back = json::from_json(&text).expect("reads back");
    assert_eq!(back.points[0].summary, result.points[0].summary);
    let html = fs::read_to_string(directory.path().join("report.html")).expect("readable");
    assert!(html.contains("seed = 1 # &lt;here&gt;"), "the configuration is in the report");
    let temporary = fs::read_dir(directory.path()).expect("there").filter(|entry| {
        entry.as_ref().expect("readable").file_name().to_string_lossy().ends_with(".tmp")
    });
    assert_eq!(temporary.count(), 0);
}

#[test]
fn csv_files_have_a_row_for_everything_and_full_rows() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let directory = RunDirectory::create(Some(root.path())).expect("made");
    let result = support::partial();
    directory.write(&result).expect("written");
    let trials = &result.points[0].trials;
    let expected = [
        ("summary.csv", 1),
        ("per_second.csv", trials.iter().map(|t| t.series.sent_per_s.len()).sum()),
        ("samples.csv", trials.iter().map(|t| t.series.outstanding.len()).sum()),
        ("per_switch.csv", trials.iter().map(|t| t.per_switch.len()).sum()),
    ];
    for (name, rows) in expected {
        let text = fs::read_to_string(root.path().join(name)).expect("readable");
        let columns = text.lines().next().expect("a header").split(',').count();
        assert_eq!(text.lines().count(), rows + 1, "{name}");
        for line in text.lines() {
            assert_eq!(line.split(',').count(), columns, "{name}: {line}");
        }
    }
    // A figure of the summary stands in the column that the header names.
    let text = fs::read_to_string(root.path().join("summary.csv")).expect("readable");
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let (header, row) = (lines.next().expect("a header"), lines.next().expect("a row"));
    let cell = |name: &str| row[header.iter().position(|c| *c == name).expect(name)];
    let received = &result.points[0].summary["received_rate"];
    assert_eq!(cell("received_rate.mean_per_s").parse(), Ok(received.mean));
    assert_eq!(cell("received_rate.ci95_per_s").parse().ok(), received.ci95);
    assert_eq!(
        (cell("received_rate.n"), cell("saturated"), cell("switches")),
        ("2", "neither", "16")
    );
    let sent: u64 = result.points[0].trials[0].series.sent_per_s.iter().sum();
    let text = fs::read_to_string(root.path().join("per_second.csv")).expect("readable");
    let rows = text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    let first_trial = rows.filter(|row| row[6] == "1");
    assert_eq!(first_trial.map(|row| row[9].parse::<u64>().expect("a number")).sum::<u64>(), sent);
}

#[test]
fn a_file_that_cannot_be_written_is_named_and_costs_no_other() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let directory = RunDirectory::create(Some(root.path())).expect("made");
    // No file can be written where a directory has the same path.
    fs::create_dir_all(root.path().join("report.html/occupied")).expect("made");
    fs::write(root.path().join("histograms"), "a file").expect("written");
    let error = directory.write(&support::single()).expect_err("two paths are taken");
    let text = error.to_string();
    assert!(text.starts_with("cannot write ") && text.contains("report.html: "), "{text}");
    assert!(text.contains("histograms"), "{text}");
    assert_eq!(error.failures.len(), 2);
    assert!(
        root.path().join("result.json").exists() && root.path().join("per_switch.csv").exists()
    );
    let written = error.written.iter().filter(|path| path.parent() == Some(root.path()));
    assert_eq!(written.count(), 5);
}

#[test]
fn a_failed_run_leaves_a_directory_too() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let directory = RunDirectory::create(Some(root.path())).expect("made");
    let written = directory.write(&support::failed()).expect("written");
    assert_eq!(written.len(), 6, "no histograms, everything else: {written:?}");
}
