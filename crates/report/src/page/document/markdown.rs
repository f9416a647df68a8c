//! Formats the claims of a document as Markdown.

use super::super::claims::markdown::{cell, text};
use super::Document;
use crate::format::{duration, figure};
use statistics::Unit;

/// Formats the claims of a document as a page in Markdown: when, where and by which build and
/// command they were measured, the findings and notes, and the table of claims of each publication
/// with the regions by which each claim was judged. The paths of the run directory are left out.
#[must_use]
pub fn claims(document: &Document) -> String {
    let mut out = format!("# {}\n\n", cell(&document.title));
    for (name, value) in facts(document) {
        out.push_str(&format!("* {name}: {value}\n"));
    }
    if let Some(reason) = &document.partial {
        out.push_str(&format!("\n**Partial: {}**\n", cell(reason)));
    }
    for line in &document.findings {
        out.push_str(&format!("\n{}\n", cell(line)));
    }
    out.push_str(&text(&document.claims));
    if !document.notes.is_empty() {
        out.push_str("\n## Notes\n\n");
    }
    for line in &document.notes {
        out.push_str(&format!("* {}\n", cell(line)));
    }
    out
}

/// Returns the circumstances of the measurement, each with its name.
fn facts(document: &Document) -> Vec<(&'static str, String)> {
    let provenance = &document.provenance;
    let host = &provenance.host;
    let build = provenance.build.as_ref().map(|build| format!(", {}", build.in_words()));
    let memory = match host.memory_bytes {
        0 => String::new(),
        bytes => format!(", {} of memory", figure(bytes as f64, Unit::Bytes)),
    };
    let version = format!("{}{}", provenance.planimeter_version, build.unwrap_or_default());
    vec![
        ("Started", cell(&provenance.started_at)),
        ("Took", duration(provenance.elapsed_s)),
        ("Command", format!("`{}`", command(&provenance.command))),
        ("Version", cell(&version)),
        (
            "Host",
            cell(&format!("{} cores ({}){memory}, {}", host.cpus, host.cpu_model, host.kernel)),
        ),
    ]
}

/// Returns the words of a command line as one that others can type: without the path of the
/// program, and without the options that name a run directory.
fn command(words: &[String]) -> String {
    let mut shown = vec!["planimeter"];
    let mut words = words.iter().map(String::as_str).skip(1);
    while let Some(word) = words.next() {
        let (name, has_value) = match word.split_once('=') {
            Some((name, _)) => (name, true),
            None => (word, false),
        };
        if !matches!(name, "--output" | "-o" | "--resume") {
            shown.push(word);
        } else if !has_value {
            words.next();
        }
    }
    shown.join(" ").replace('`', "'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_one_that_others_can_type() {
        let shown =
            |line: &str| command(&line.split(' ').map(str::to_owned).collect::<Vec<String>>());
        let expected = "planimeter reproduce all --quick";
        assert_eq!(shown("/usr/bin/planimeter reproduce all --quick"), expected);
        assert_eq!(shown("./planimeter reproduce -o /tmp/a all --quick"), expected);
        assert_eq!(shown("p reproduce all --output=/tmp/a --quick --resume /tmp/b"), expected);
    }
}
