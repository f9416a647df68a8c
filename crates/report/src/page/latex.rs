//! Writes the tables of a page as LaTeX files for `\input`, one for each table, in the style of the
//! package booktabs.

use std::fmt::Write as _;

use super::render::{MANY_COLUMNS, file_stem};
use super::table::{Cell, Kind, Table};
use super::{Block, Page};
use crate::estimates::{UNBOUNDED, UNBOUNDED_MEANS};

/// The number of rows from which a table may continue on the next sheet of paper.
const LONG: usize = 40;

/// A table of a page, as a LaTeX file.
pub(crate) struct TableFile {
    /// The name of the LaTeX file, relative to the folder of tables.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// A table of a page with its caption and the remarks below it.
struct Remarked<'a> {
    /// The caption of the table or, if it has none, the heading above it.
    caption: &'a str,
    table: &'a Table,
    remarks: Vec<String>,
}

/// Returns a LaTeX file for each table of a page, in order.
pub(crate) fn files(page: &Page) -> Vec<TableFile> {
    let mut found = Vec::new();
    collect(&page.lead, &page.title, &mut found);
    for section in &page.sections {
        collect(&section.blocks, &section.title, &mut found);
    }
    let numbered = (1..).zip(&found);
    numbered
        .map(|(number, remarked)| {
            let stem = file_stem("table", number, remarked.caption);
            TableFile { text: text(remarked, &stem), name: format!("{stem}.tex") }
        })
        .collect()
}

/// Collects the tables of blocks, each with its caption and the remarks below it.
fn collect<'a>(blocks: &'a [Block], heading: &'a str, found: &mut Vec<Remarked<'a>>) {
    let mut heading = heading;
    for (place, block) in blocks.iter().enumerate() {
        let tables: &[Table] = match block {
            Block::Table(table) => std::slice::from_ref(table),
            Block::Tables(tables) => tables,
            Block::Heading(text) => {
                heading = text;
                &[]
            }
            Block::Folded { blocks, .. } => {
                collect(blocks, heading, found);
                &[]
            }
            _ => &[],
        };
        // The remarks below a table explain it.
        let below = blocks[place + 1..].iter().map_while(|block| match block {
            Block::Remark(text) => Some(text.plain()),
            _ => None,
        });
        let remarks: Vec<String> = below.filter(|text| !text.trim().is_empty()).collect();
        for table in tables.iter().filter(|table| !table.is_empty()) {
            let caption = if table.caption.is_empty() { heading } else { &table.caption };
            found.push(Remarked { caption, table, remarks: remarks.clone() });
        }
    }
}

/// Returns the LaTeX source of a table.
fn text(remarked: &Remarked<'_>, stem: &str) -> String {
    let Remarked { caption, table, .. } = remarked;
    let columns: String = (0..table.columns.len()).map(|place| column(table.kind(place))).collect();
    let head = table.columns.iter().map(|column| escaped(&column.name)).collect::<Vec<_>>();
    let head =
        if head.iter().all(String::is_empty) { String::new() } else { line(&head) + "\\midrule\n" };
    let label = format!("\\caption{{{}}}\n\\label{{tab:{stem}}}", escaped(caption));
    let size = if table.columns.len() >= MANY_COLUMNS {
        "\\scriptsize\\setlength{\\tabcolsep}{3pt}\n"
    } else {
        "\\small\n"
    };
    let notes = notes(remarked);
    let rows = rows(table);
    if table.rows().count() < LONG {
        let notes = if notes.is_empty() {
            notes
        } else {
            format!("\n\\par\\smallskip\\footnotesize\n{notes}")
        };
        return format!(
            "% Needs \\usepackage{{booktabs}}.\n\\begin{{table}}\n\\centering{size}{label}\n\
             \\begin{{tabular}}{{{columns}}}\n\\toprule\n{head}{rows}\\bottomrule\n\\end{{tabular}}{notes}\n\\end{{table}}\n"
        );
    }
    let notes = if notes.is_empty() {
        notes
    } else {
        format!("\n\\noindent{{\\footnotesize\n{notes}\\par}}")
    };
    format!(
        "% Needs \\usepackage{{booktabs,longtable}}.\n{{{size}\\begin{{longtable}}{{{columns}}}\n{label}\\\\\n\\toprule\n\
         {head}\\endhead\n{rows}\\bottomrule\n\\end{{longtable}}{notes}}}\n"
    )
}

fn column(kind: Kind) -> &'static str {
    match kind {
        Kind::Figures | Kind::Values => "r",
        Kind::Words => "l",
        Kind::Prose => "p{0.3\\linewidth}",
    }
}

fn rows(table: &Table) -> String {
    let mut out = String::new();
    for group in &table.groups {
        if let Some(title) = &group.title {
            let space = if out.is_empty() { "" } else { "\\addlinespace\n" };
            let (columns, title) = (table.columns.len(), escaped(title));
            let _ =
                writeln!(out, "{space}\\multicolumn{{{columns}}}{{l}}{{\\textit{{{title}}}}}\\\\");
        }
        for row in &group.rows {
            out.push_str(&line(&row.iter().map(|cell| escaped(&words(cell))).collect::<Vec<_>>()));
        }
    }
    out
}

fn line(cells: &[String]) -> String {
    cells.join(" & ") + " \\\\\n"
}

fn words(cell: &Cell) -> String {
    cell.shown().plain()
}

/// Returns the text below a table in LaTeX: its remarks, and the meanings of its signs.
fn notes(remarked: &Remarked<'_>) -> String {
    let has = |test: &dyn Fn(&str) -> bool| {
        remarked.table.rows().flatten().any(|cell| test(words(cell).trim()))
    };
    let mut notes = remarked.remarks.clone();
    let said = |notes: &[String], sign: &str| notes.iter().any(|note| note.contains(sign));
    if has(&|text| text.contains(UNBOUNDED)) && !said(&notes, UNBOUNDED) {
        notes.push(UNBOUNDED_MEANS.to_owned());
    }
    if has(&|text| text == "–") {
        notes.push(
            "A dash stands where there is no value: nothing was measured or published.".to_owned(),
        );
    }
    if has(&|text| text.contains('±')) && !said(&notes, "±") && !said(&notes, "interval") {
        notes.push("What follows ± is half of the confidence interval.".to_owned());
    }
    notes.iter().map(|note| escaped(note.trim())).collect::<Vec<_>>().join("\n")
}

/// The characters that must be written as commands in LaTeX, each with its command.
const SIGNS: [(char, &str); 38] = [
    ('\\', "\\textbackslash{}"),
    ('~', "\\textasciitilde{}"),
    ('^', "\\textasciicircum{}"),
    ('<', "\\textless{}"),
    ('>', "\\textgreater{}"),
    ('|', "\\textbar{}"),
    ('"', "''"),
    ('&', "\\&"),
    ('%', "\\%"),
    ('$', "\\$"),
    ('#', "\\#"),
    ('_', "\\_"),
    ('{', "\\{"),
    ('}', "\\}"),
    ('\u{a0}', "~"),
    ('–', "--"),
    ('—', "---"),
    ('−', "$-$"),
    ('…', "\\ldots{}"),
    ('‘', "`"),
    ('’', "'"),
    ('“', "``"),
    ('”', "''"),
    ('µ', "$\\mu$"),
    ('μ', "$\\mu$"),
    ('±', "$\\pm$"),
    ('×', "$\\times$"),
    ('÷', "$\\div$"),
    ('·', "$\\cdot$"),
    ('≤', "$\\leq$"),
    ('≥', "$\\geq$"),
    ('≈', "$\\approx$"),
    ('≠', "$\\neq$"),
    ('∞', "$\\infty$"),
    ('→', "$\\rightarrow$"),
    ('←', "$\\leftarrow$"),
    ('†', "$\\dagger$"),
    ('‡', "$\\ddagger$"),
];

/// The superscript digits and signs, each with the plain character.
const RAISED: [(char, char); 12] = [
    ('⁰', '0'),
    ('¹', '1'),
    ('²', '2'),
    ('³', '3'),
    ('⁴', '4'),
    ('⁵', '5'),
    ('⁶', '6'),
    ('⁷', '7'),
    ('⁸', '8'),
    ('⁹', '9'),
    ('⁻', '-'),
    ('⁺', '+'),
];

/// Escapes a text for LaTeX. Letters beyond ASCII remain as they are, because LaTeX reads UTF-8.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    let mut raised = String::new();
    let mut letters = text.chars().peekable();
    let mut before = ' ';
    while let Some(letter) = letters.next() {
        match RAISED.iter().find(|(sign, _)| *sign == letter) {
            Some((_, digit)) => raised.push(*digit),
            None => {
                let is_number = letters.peek().is_some_and(char::is_ascii_digit);
                let sign = SIGNS.iter().find(|(sign, _)| *sign == letter);
                match (letter, sign) {
                    // The words next to these signs have the same meaning.
                    ('✓' | '✗', _) => {
                        letters.next_if_eq(&' ');
                    }
                    ('-', _) if is_number && !before.is_alphanumeric() => out.push_str("$-$"),
                    (_, Some((_, command))) => out.push_str(command),
                    (letter, None) if letter.is_control() => out.push(' '),
                    (letter, None) => out.push(letter),
                }
            }
        }
        before = letter;
        let goes_on =
            letters.peek().is_some_and(|next| RAISED.iter().any(|(sign, _)| sign == next));
        if !raised.is_empty() && !goes_on {
            let _ = write!(out, "$^{{{raised}}}$");
            raised.clear();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Column, Tone};

    fn page(rows: usize) -> Page {
        let mut page = Page::new("Planimeter", "A title");
        let columns = [Column::words("design_1"), Column::figures("rate"), Column::words("held")];
        let mut table = Table::new("", columns);
        for row in 0..rows {
            table.row([
                Cell::from(format!("2¹⁰, {row} & more")),
                Cell::from("-1.2 ± 0.1 µs"),
                Cell::toned(Tone::Bad, "✗ FAIL"),
            ]);
        }
        table.row([Cell::from("a→b"), Cell::from("5 †"), Cell::default()]);
        let blocks = vec![Block::Table(table), Block::Remark("Rates in 50 % of cases.".into())];
        page.section("s", "All of <it>", blocks);
        page
    }

    #[test]
    fn a_table_is_escaped_and_its_signs_are_explained() {
        let files = files(&page(1));
        assert_eq!(files.len(), 1);
        assert_eq!(files[0].name, "table-01-all-of-it.tex");
        let expected = "% Needs \\usepackage{booktabs}.\n\\begin{table}\n\\centering\\small\n\
             \\caption{All of \\textless{}it\\textgreater{}}\n\\label{tab:table-01-all-of-it}\n\
             \\begin{tabular}{lrl}\n\\toprule\ndesign\\_1 & rate & held \\\\\n\\midrule\n\
             2$^{10}$, 0 \\& more & $-$1.2 $\\pm$ 0.1 $\\mu$s & FAIL \\\\\n\
             a$\\rightarrow$b & 5 $\\dagger$ & -- \\\\\n\\bottomrule\n\\end{tabular}\n\
             \\par\\smallskip\\footnotesize\nRates in 50 \\% of cases.\n$\\dagger$ ";
        assert!(files[0].text.starts_with(expected), "{}", files[0].text);
        assert!(
            files[0].text.contains("A dash stands where there is no value"),
            "{}",
            files[0].text
        );
        assert!(files[0].text.contains("What follows $\\pm$ is half"), "{}", files[0].text);
    }

    #[test]
    fn a_long_table_goes_over_several_sheets() {
        let files = files(&page(LONG));
        assert!(files[0].text.contains("\\begin{longtable}{lrl}"), "{}", files[0].text);
        assert!(files[0].text.contains("\\endhead") && !files[0].text.contains("tabular"));
    }

    #[test]
    fn no_letter_is_a_command() {
        for letter in "\\{}$&#^_%~".chars() {
            let text = escaped(&letter.to_string());
            assert!(text.starts_with('\\') && text.len() > 1, "{letter}: {text}");
        }
        assert_eq!(escaped("10-20 -3 a-1"), "10-20 $-$3 a-1");
        assert_eq!(escaped("x⁻¹²y"), "x$^{-12}$y");
    }
}
