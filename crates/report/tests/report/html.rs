//! Tests that `report.html` is safe, self-contained, well-formed and of reasonable size, and that
//! it has the plots for which there is data.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use probe::outcome::RunResult;
use report::html::document;

use crate::support;

const TOML: &str = "protocol = \"openflow13\" # <b>&</b>\n";

/// Results of every kind and their pages.
static PAGES: LazyLock<Vec<(&'static str, String)>> = LazyLock::new(|| {
    let results: Vec<(&'static str, RunResult)> = vec![
        ("single", support::single()),
        ("sweep", support::rates()),
        ("figure 7", support::figure_7()),
        ("search", support::search()),
        ("failed", support::failed()),
        ("partial", support::partial()),
        ("closed", support::closed()),
        ("thousand", support::thousand()),
        ("hostile", support::hostile()),
        ("empty", support::run(Vec::new())),
    ];
    results.into_iter().map(|(name, result)| (name, document(&result, TOML))).collect()
});

/// Returns the names of the elements in the order of their start tags. Panics if they are not
/// nested properly.
fn elements(html: &str) -> Vec<String> {
    const VOID: [&str; 2] = ["meta", "!DOCTYPE"];
    let mut open: Vec<&str> = Vec::new();
    let mut seen = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        let tag_end = rest[at..].find('>').expect("a tag ends") + at;
        let tag = &rest[at + 1..tag_end];
        rest = &rest[tag_end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "near {:.80}", rest);
            continue;
        }
        let name = tag.split([' ', '/']).next().expect("a name");
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '!'), "{tag}");
        seen.push(name.to_owned());
        if tag.ends_with('/') || VOID.contains(&name) {
            continue;
        }
        open.push(name);
        if name == "style" {
            let end = rest.find("</style>").expect("the style sheet ends");
            rest = &rest[end..];
        }
    }
    assert!(open.is_empty(), "never closed: {open:?}");
    seen
}

fn attributes<'a>(html: &'a str, name: &str) -> Vec<&'a str> {
    let needle = format!(" {name}=\"");
    html.split(needle.as_str())
        .skip(1)
        .map(|rest| rest.split('"').next().expect("quoted"))
        .collect()
}

#[test]
fn pages_are_well_formed_and_need_nothing_from_elsewhere() {
    for (name, html) in PAGES.iter() {
        let elements = elements(html);
        for forbidden in
            ["script", "link", "img", "iframe", "object", "embed", "base", "form", "image", "use"]
        {
            assert!(!elements.iter().any(|e| e == forbidden), "{name}: {forbidden}");
        }
        for href in attributes(html, "href") {
            assert!(href.starts_with('#'), "{name}: {href}");
        }
        assert!(attributes(html, "src").is_empty(), "{name}");
        let style = html
            .split("<style>")
            .nth(1)
            .and_then(|s| s.split("</style>").next())
            .expect("a style sheet");
        assert!(!style.contains("url(") && !style.contains("@import"), "{name}");
        assert!(html.contains("default-src 'none'; style-src 'unsafe-inline'"));
    }
}

#[test]
fn every_id_is_there_once_and_every_reference_leads_somewhere() {
    for (name, html) in PAGES.iter() {
        let all = attributes(html, "id");
        let ids: BTreeSet<&str> = all.iter().copied().collect();
        assert_eq!(ids.len(), all.len(), "{name}: an id is there twice");
        let labels = attributes(html, "aria-labelledby").into_iter().flat_map(|l| l.split(' '));
        let links = attributes(html, "href").into_iter().map(|l| &l[1..]);
        let clips = attributes(html, "clip-path");
        let clips = clips.iter().map(|c| c.trim_start_matches("url(#").trim_end_matches(')'));
        for target in labels.chain(links).chain(clips) {
            assert!(ids.contains(target), "{name}: {target}");
        }
    }
}

#[test]
fn every_row_of_a_table_has_as_many_cells_as_its_head() {
    for (name, html) in PAGES.iter() {
        for table in html.split("<table").skip(1) {
            let table = table.split("</table>").next().expect("a table ends");
            let rows = table.split("<tr>").skip(1).filter(|row| !row.contains("colspan"));
            let cells = rows.map(|row| row.matches("</td>").count() + row.matches("</th>").count());
            let cells: BTreeSet<usize> = cells.collect();
            assert_eq!(cells.len(), 1, "{name}: {cells:?} cells in {:.300}", table);
        }
    }
}

#[test]
fn text_from_outside_stays_text() {
    let html = document(&support::hostile(), "</code></pre><script>alert(1)</script>");
    assert!(!html.contains("<script") && !html.contains("<img") && !html.contains("\u{202e}"));
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    // Each string from outside is shown, and shown as text.
    for number in 0..support::HOSTILE_STRINGS {
        let shown = format!("&lt;img src=x onerror=alert({number})&gt;");
        assert!(html.contains(&shown), "string {number} is not in the page");
    }
}

fn figures(html: &str) -> Vec<&str> {
    html.split("<figcaption><b>")
        .skip(1)
        .map(|f| f.split("</figcaption>").next().expect("ends"))
        .collect()
}

fn has(figures: &[&str], title: &str) -> bool {
    figures.iter().any(|figure| figure.contains(title))
}

#[test]
fn a_single_point_shows_its_course_and_its_percentiles() {
    let html = document(&support::figure_7(), TOML);
    let figures = figures(&html);
    for title in [
        "Rates over time",
        "Packet-ins outstanding, per switch",
        "Round-trip time by percentile",
        "Send lag by percentile",
        "CPU over time",
        "Rates by switch",
    ] {
        assert!(has(&figures, title), "{title}: {figures:#?}");
    }
    assert!(!has(&figures, "against"), "{figures:#?}");
    // Fig. 7 has a line for each of 50 switches.
    assert!((0..50).all(|n| html.contains(&format!("<title>switch {n}</title>"))));
}

#[test]
fn a_sweep_shows_the_figures_of_the_paper() {
    let html = document(&support::rates(), TOML);
    let figures_4 = figures(&html);
    for title in [
        "OpenFlow 1.3: packets sent and received against offered rate",
        "P4Runtime: packets sent and received against offered rate",
        "CPU of the controller against offered rate",
        "Mean round-trip time against offered rate",
        "Loss against offered rate",
    ] {
        assert!(has(&figures_4, title), "{title}");
    }
    assert!(!has(&figures_4, "against number of switches"), "there is one number only");

    let html = document(&support::sweep(), TOML);
    let figures_5 = figures(&html);
    for title in [
        "P4Runtime: packets sent and received against number of switches",
        "Mean round-trip time against number of switches",
        "CPU of the controller against number of switches",
    ] {
        assert!(has(&figures_5, title), "{title}");
    }
    assert!(html.contains("class=\"interval\""), "confidence intervals are drawn");
}

#[test]
fn a_plot_without_data_is_not_there() {
    let failed = document(&support::failed(), TOML);
    assert!(figures(&failed).is_empty());
    assert!(failed.contains("This run failed") && failed.contains("Why nothing was answered"));
    let mut unobserved = support::single();
    unobserved.points[0].trials[0].series.controller_rss_bytes.clear();
    let html = document(&unobserved, TOML);
    assert!(
        !has(&figures(&html), "Memory of the controller") && has(&figures(&html), "CPU over time")
    );
}

#[test]
fn a_result_read_back_without_its_histograms_still_has_percentiles() {
    let json = report::json::to_json(&support::single()).expect("JSON");
    let html = document(&report::json::from_json(&json).expect("reads back"), "");
    assert!(has(&figures(&html), "Round-trip time by percentile"));
}

#[test]
fn a_partial_run_says_so_before_any_figure() {
    let html = document(&support::partial(), TOML);
    let banner = html.find("This run is partial").expect("a banner");
    assert!(banner < html.find("class=\"tiles\"").expect("headline figures"));
    assert!(html.contains("interrupted by the user during trial 2 of 5"));
}

/// A missed threshold stands above a verdict, which then has no colour of good news.
#[test]
fn a_threshold_that_does_not_hold_stands_above_a_verdict_without_colour() {
    let mut result = support::single();
    result.thresholds.clear();
    let good = "class=\"card good\"";
    let verdict = "Neither side was saturated";
    assert!(document(&result, TOML).contains(good));
    result.thresholds = vec![support::threshold("rtt.p99 < 1ms", Some(2e-3), false)];
    let html = document(&result, TOML);
    let missed = html.find("threshold rtt.p99 &lt; 1ms does not hold").expect("the news");
    assert!(missed < html.find(verdict).expect("a verdict") && !html.contains(good), "{html}");
    let text = report::table(&result, report::Layout { width: 80, colour: true });
    let missed = text.find("FAIL  ").expect("the news");
    let sentence = text.find(verdict).expect("a verdict");
    assert!(missed < sentence, "{text}");
    let before = text[..sentence].rsplit('\n').next().expect("a line");
    assert!(!before.contains('\u{1b}'), "the verdict has no colour: {before:?}");
}

#[test]
fn a_thousand_switches_over_a_minute_stay_small() {
    let result = support::thousand();
    let html = document(&result, TOML);
    assert!(html.len() < 500_000, "{} bytes", html.len());
    let json = report::json::to_json(&result).expect("JSON");
    assert!(json.len() < 4_000_000, "{} bytes", json.len());
}

/// A wide data table must not widen its figure over the neighbour. A grid column without a minimum
/// width of 0 grows to the width of its content, even if the content may scroll.
#[test]
fn no_column_of_a_grid_of_figures_grows_with_its_content() {
    let (_, html) = &PAGES[0];
    let rule = |selector: &str| {
        let rest = html.split(&format!("\n{selector}{{")).nth(1).expect("a rule");
        rest.split('}').next().expect("its end").to_owned()
    };
    let figure = rule("figure");
    assert!(figure.contains("grid-template-columns:minmax(0,1fr)"), "{figure}");
    assert!(figure.contains("min-width:0"), "{figure}");
    assert!(rule(".wide").contains("overflow-x:auto"));
}

#[test]
fn what_is_sent_instead_of_packet_ins_has_its_own_name() {
    for (load, term, answered) in [
        ("digest", "Digest lists", "A digest list is answered by the first acknowledgement"),
        ("idle-timeout", "Notifications", "A notification is answered by the first update"),
    ] {
        let mut result = support::figure_7();
        result.configuration.insert("traffic.load".to_owned(), load.to_owned());
        let html = document(&result, "load = \"packet-in\" as it was written");
        assert!(html.contains(&format!("{term} outstanding, per switch")), "{load}");
        assert!(html.contains(answered), "{load}");
        assert!(!html.contains("Packet-ins outstanding"), "{load}");
        assert!(!html.contains("Packet-ins of the measure window"), "{load}");
        assert!(html.contains("load = &quot;packet-in&quot; as it was written"), "{load}");
    }
}
