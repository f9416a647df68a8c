//! Tests of reports of several runs, whose lines share plots, and of the files of their figures.

use std::fs;
use std::path::Path;

use probe::outcome::RunResult;
use report::compare::Candidate;
use report::{Layout, RunDirectory};

use crate::support;

/// Returns the points of one protocol as a run of their own.
fn only(result: &RunResult, protocol: &str) -> RunResult {
    let mut result = result.clone();
    result.points.retain(|point| point.protocol == protocol);
    result
}

fn report(runs: &[(&str, &RunResult)]) -> (tempfile::TempDir, String) {
    let root = tempfile::tempdir().expect("a temporary directory");
    let directory = RunDirectory::create(Some(root.path())).expect("made");
    let runs: Vec<Candidate<'_>> =
        runs.iter().map(|(name, result)| Candidate { name, result }).collect();
    directory.write_report(&runs).expect("written");
    let html = fs::read_to_string(root.path().join("report.html")).expect("there");
    (root, html)
}

/// Returns the figure of a page with the given title.
fn figure<'a>(html: &'a str, title: &str) -> &'a str {
    let mut figures = html.split("<figure ").skip(1);
    let found = figures.find(|figure| {
        figure.split("</figcaption>").next().is_some_and(|caption| caption.contains(title))
    });
    found.and_then(|figure| figure.split("</figure>").next()).expect(title)
}

fn files(directory: &Path, extension: &str) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory.join("figures"))
        .expect("there")
        .map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(extension))
        .collect();
    names.sort();
    names
}

/// Fig. 4c, 6a and 6b of the P4RCProbe paper are measured in two runs and drawn in one plot.
#[test]
fn two_protocols_of_two_runs_share_their_plots() {
    for (whole, titles) in [
        (support::rates(), vec!["CPU of the controller against offered rate"]),
        (
            support::sweep(),
            vec![
                "Mean round-trip time against number of switches",
                "CPU of the controller against number of switches",
            ],
        ),
    ] {
        let (openflow, p4runtime) = (only(&whole, "openflow13"), only(&whole, "p4runtime"));
        let (_root, html) = report(&[("runs/of", &openflow), ("runs/p4rt", &p4runtime)]);
        for title in titles {
            let figure = figure(&html, title);
            for protocol in ["OpenFlow 1.3", "P4Runtime"] {
                assert!(figure.contains(&format!("<title>{protocol}, ")), "{title}: {protocol}");
            }
        }
        assert!(html.contains("<h2>runs/of</h2>") && html.contains("<h2>runs/p4rt</h2>"));
    }
}

#[test]
fn runs_of_the_same_points_have_names_and_others_complete_each_other() {
    let whole = only(&support::rates(), "p4runtime");
    let (_root, html) = report(&[("before", &whole), ("after", &whole)]);
    let figure_of = |html: &str| figure(html, "CPU of the controller against offered").to_owned();
    let both = figure_of(&html);
    for name in ["P4Runtime, before, 1 switch", "P4Runtime, after, 1 switch"] {
        assert!(both.contains(&format!("<title>{name}</title>")), "{name}");
    }
    let (mut low, mut high) = (whole.clone(), whole.clone());
    low.points.truncate(3);
    high.points.drain(..3);
    let (_root, html) = report(&[("low", &low), ("high", &high)]);
    let figure = figure_of(&html);
    assert_eq!(figure.matches("<title>1 switch</title>").count(), 1, "{figure}");
    assert_eq!(figure.matches("<tr><th scope=\"row\">").count(), whole.points.len());
}

/// A sweep has lines, and a run of one point has none. Its point stands beside the lines, under the
/// name of its run.
#[test]
fn the_point_of_a_run_of_one_stands_beside_the_lines_of_a_sweep() {
    let (sweep, single) = (only(&support::sweep(), "openflow13"), support::single());
    for runs in [[("sweep", &sweep), ("single", &single)], [("single", &single), ("sweep", &sweep)]]
    {
        let (root, html) = report(&runs);
        for title in
            ["packets sent and received against number", "Mean round-trip time against number"]
        {
            let figure = figure(&html, title);
            assert!(
                figure.contains(">10/s each</text>")
                    && figure.contains("single: 500/s each</title>"),
                "{figure}"
            );
        }
        let names = files(root.path(), ".csv");
        let mean = names.iter().find(|name| name.contains("mean-round-trip-time-against-number"));
        let csv = fs::read_to_string(root.path().join("figures").join(mean.expect("a file")));
        let csv = csv.expect("a file");
        let rows: Vec<&str> = csv.lines().filter(|line| line.contains("single")).collect();
        let [row] = rows.as_slice() else { panic!("one point: {rows:?}") };
        let switches = single.points[0].switches;
        let mean = single.points[0].summary["rtt.mean"].mean;
        assert!(row.contains(&format!(",{switches},{mean},")), "{row}");
    }
    let candidates =
        [("sweep", &sweep), ("single", &single)].map(|(name, result)| Candidate { name, result });
    let text = report::compare(&candidates, Layout { width: 80, colour: false });
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Not compared: single and sweep have no place in common"), "{text}");
    assert!(
        text.contains("saturated at any of 18 points") && text.contains("16 switches, 500/s"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn every_figure_is_a_file_of_each_kind() {
    for (name, result) in [
        ("single", support::single()),
        ("figure 7", support::figure_7()),
        ("hostile", support::hostile()),
    ] {
        let root = tempfile::tempdir().expect("a temporary directory");
        let directory = RunDirectory::create(Some(root.path())).expect("made");
        directory.write(&result).expect("written");
        let html = fs::read_to_string(root.path().join("report.html")).expect("there");
        let figures = html.matches("<figure ").count();
        let (vectors, papers) = (files(root.path(), ".svg"), files(root.path(), ".pdf"));
        assert!(figures > 0 && vectors.len() == figures && papers.len() == figures, "{name}");
        let data = files(root.path(), ".csv");
        assert_eq!(data.len(), figures, "{name}");
        for file in data {
            let text = fs::read_to_string(root.path().join("figures").join(&file)).expect("text");
            assert!(text.starts_with("series,") && text.lines().count() > 1, "{name}: {file}");
        }
        for file in vectors {
            let svg = fs::read_to_string(root.path().join("figures").join(&file)).expect("text");
            // The file does not depend on the style sheet of the page.
            assert!(!svg.contains("class=") && !svg.contains("var("), "{name}: {file}");
            assert!(svg.contains(" stroke=\"#") && svg.ends_with("</svg>\n"), "{name}: {file}");
            assert_eq!(svg.matches("<g ").count(), svg.matches("</g>").count(), "{name}: {file}");
        }
        for file in papers {
            let pdf = fs::read(root.path().join("figures").join(&file)).expect("bytes");
            assert!(pdf.starts_with(b"%PDF-1.7\n") && pdf.ends_with(b"%%EOF\n"), "{name}: {file}");
        }
    }
}

#[test]
fn files_are_named_after_their_figures() {
    let (root, html) = report(&[("one", &support::rates())]);
    let first =
        "figure-01-openflow-1-3-packets-sent-and-received-against-offered-rate-1-switch.svg";
    assert_eq!(files(root.path(), ".svg").first().map(String::as_str), Some(first));
    assert!(html.contains("OpenFlow 1.3: packets sent and received against offered rate"));
}
