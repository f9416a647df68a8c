//! The paths of packets through a program, as `planimeter compile --explain` prints them. The cost
//! of a path is the set of functions of a device model that a packet needs on it.

use super::tree;
use device::program::{Overview, Passes, Path, PathError, overview, paths};
use ir::Program;
use num_bigint::BigUint;
use report::page::document::Section;
use report::page::{Cell, Table};
use report::value::Value;
use statistics::Unit;

/// The width of the printed text in columns.
const WIDTH: usize = 80;

/// The maximum number of paths that are printed. A longer list would not help a reader.
const MAX: usize = 12;

/// The remark about a program with too many paths and sets of valid headers. Its paths are counted
/// without regard to which headers are valid.
const ALL_WAYS: &str = "Sets of valid headers are too many as well: conditions on them go both ways here, and all headers \
                        are emitted. There are fewer ways, and the longest is shorter.";

/// Returns a list of the paths through a program that need different functions of a device model.
/// The path that needs the most functions is the first.
pub(super) fn text(program: &Program) -> String {
    let found = match sorted(program) {
        Ok(found) => found,
        Err(PathError::TooMany { most, .. }) => return overview_text(program, most),
        Err(error) => return wrapped("", &format!("paths: {error}")),
    };
    let ways: u64 = found.iter().map(|path| path.ways).sum();
    let mut text = format!("{ways} ways through it, {} with different parts\n", found.len());
    for path in found.iter().take(MAX) {
        let decisions = match path.decisions.as_slice() {
            [] => "always the same".to_owned(),
            decisions => decisions.join("; "),
        };
        text.push_str(&wrapped("  ", &decisions));
        text.push_str(&wrapped("    ", &parts(path)));
        match path.ways {
            1 => {}
            2 => text.push_str("    and so is one more way\n"),
            ways => text.push_str(&format!("    and so are {} more ways\n", ways - 1)),
        }
    }
    if found.len() > MAX {
        text.push_str(&format!("  and {} with fewer parts\n", found.len() - MAX));
    }
    text
}

/// Returns the paths through a program. The path that needs the most functions of a device model is
/// the first.
fn sorted(program: &Program) -> Result<Vec<Path>, PathError> {
    let mut found = paths(program)?;
    found.sort_by(|a, b| {
        number_of_parts(b).cmp(&number_of_parts(a)).then_with(|| a.decisions.cmp(&b.decisions))
    });
    Ok(found)
}

fn number_of_parts(path: &Path) -> u64 {
    path.parts.values().map(|count| u64::from(*count)).sum()
}

/// Returns the content of [`text`] as a section of a document, which other programs can read. It
/// contains all paths, not only the first ones.
pub(super) fn section(program: &Program) -> Section {
    let mut section =
        Section { id: "paths".to_owned(), title: "Paths".to_owned(), ..Section::default() };
    match sorted(program) {
        Ok(found) => section.tables.push(table("Paths", &found)),
        Err(PathError::TooMany { most, .. }) => overview_section(program, most, &mut section),
        Err(error) => section.text.push(format!("paths: {error}")),
    }
    section
}

fn count(number: f64) -> Cell {
    Cell::from(Value::new(number, Unit::Count))
}

/// Returns a table with a row for each path.
fn table(caption: &str, paths: &[Path]) -> Table {
    let columns = ["path", "ways", "number of parts", "parts", "decisions"];
    let mut table = Table::of_values(caption, columns);
    for (number, path) in (1_usize..).zip(paths) {
        table.row([
            Cell::text(number.to_string()),
            count(path.ways as f64),
            count(number_of_parts(path) as f64),
            Cell::text(parts(path)),
            Cell::text(path.decisions.join("; ")),
        ]);
    }
    table
}

/// Adds a summary to the section of a program that has too many paths to list.
fn overview_section(program: &Program, most: usize, section: &mut Section) {
    let Overview { ways, longest, passes, follows_validity, .. } = match overview(program) {
        Ok(found) => found,
        Err(error) => return section.text.push(format!("paths: {error}")),
    };
    let more = format!("{} ways through it, more than {most} with different parts", number(&ways));
    section.text.push(more);
    if !follows_validity {
        section.text.push(ALL_WAYS.to_owned());
    }
    let mut through = Table::of_values("Ways that pass each decision", ["decision", "ways"]);
    through.row([Cell::text("all"), count(rounded(&ways))]);
    for Passes { decision, ways } in &passes {
        through.row([Cell::text(decision.clone()), count(rounded(ways))]);
    }
    section.tables.extend([table("The path with most parts", &[longest]), through]);
}

/// Returns the nearest floating-point number to a large integer.
fn rounded(number: &BigUint) -> f64 {
    // The digits of an integer are always a number.
    number.to_string().parse().unwrap_or(f64::INFINITY)
}

/// Returns a line with the functions of a device model that a path needs, and how often it needs
/// each.
fn parts(path: &Path) -> String {
    let part = |(part, count): (&String, &u32)| match count {
        1 => part.clone(),
        count => format!("{count} x {part}"),
    };
    path.parts.iter().map(part).collect::<Vec<_>>().join("; ")
}

/// Returns a summary of a program that has too many paths to list: the number of paths, the path
/// that needs the most functions of a device model, and the number of paths through each decision.
fn overview_text(program: &Program, most: usize) -> String {
    let Overview { ways, longest, passes, follows_validity, .. } = match overview(program) {
        Ok(found) => found,
        Err(error) => return wrapped("", &format!("paths: {error}")),
    };
    let mut text = wrapped(
        "",
        &format!("{} ways through it, more than {most} with different parts", number(&ways)),
    );
    if !follows_validity {
        text.push_str(&wrapped("  ", ALL_WAYS));
    }
    let most = number_of_parts(&longest);
    text.push_str(&format!("the one with most parts, {most}:\n"));
    text.push_str(&wrapped("  ", &longest.decisions.join("; ")));
    text.push_str(&wrapped("    ", &parts(&longest)));
    text.push_str("ways that pass each decision:\n");
    for Passes { decision, ways } in &passes {
        text.push_str(&wrapped("  ", &format!("{decision}: {}", number(ways))));
    }
    text
}

/// Formats a number with all of its digits if there are at most 15, and otherwise with its first
/// three digits and a power of ten.
fn number(number: &BigUint) -> String {
    const DIGITS: usize = 15;
    let digits = number.to_string();
    if digits.len() <= DIGITS {
        let places = digits.chars().enumerate().map(|(at, digit)| {
            let comma = at > 0 && (digits.len() - at).is_multiple_of(3);
            format!("{}{digit}", if comma { "," } else { "" })
        });
        return places.collect();
    }
    let (first, rest) = digits.split_at(1);
    format!("about {first}.{} x 10^{}", &rest[..2], digits.len() - 1)
}

/// Breaks text at spaces into lines of at most `WIDTH` columns, each of which starts with `indent`.
pub(super) fn wrapped(indent: &str, words: &str) -> String {
    let parts = tree::parts(words, WIDTH - indent.len(), 0);
    parts.iter().map(|part| format!("{indent}{part}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use p4lang::preprocess::{MemoryFiles, Options};

    #[test]
    fn every_path_is_shown_with_its_parts() {
        let source = "#include <v1model.p4>
            header e_t { bit<8> a; bit<16> b; }
            struct H { e_t e; e_t f; }
            struct M { }
            parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {
                state start { p.extract(h.e); transition select(h.e.a) { 1: more; default: accept; } }
                state more { p.extract(h.f); transition accept; }
            }
            control I(inout H h, inout M m, inout standard_metadata_t s) {
                action to(bit<9> port) { s.egress_spec = port; h.e.b = h.e.b - 1; }
                table t { key = { h.e.b: lpm; } actions = { to; NoAction; } }
                apply { t.apply(); }
            }
            control V(inout H h, inout M m) { apply { } }
            control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
            control D(packet_out p, in H h) { apply { p.emit(h); } }
            V1Switch(P(), V(), I(), E(), V(), D()) main;";
        let compiled =
            p4lang::compile_text("p.p4", source, &Options::default(), &MemoryFiles::default());
        let shown = text(&compiled.program.expect("it compiles"));
        assert!(shown.lines().all(|line| line.chars().count() <= WIDTH), "{shown}");
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn many_ways_are_counted_and_the_longest_is_shown() {
        // The program has 4^12 paths, all of which differ in their parts.
        let tables: String = (0..12).map(table).collect();
        let apply = |table: u32| format!("if (m.f{table} == 0) {{ t{table}.apply(); }} ");
        let source = large(&tables, &(0..12).map(apply).collect::<String>());
        let compiled =
            p4lang::compile_text("p.p4", &source, &Options::default(), &MemoryFiles::default());
        let shown = text(&compiled.program.expect("it compiles"));
        assert!(shown.lines().all(|line| line.chars().count() <= WIDTH), "{shown}");
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn numbers_have_their_digits_or_a_power_of_ten() {
        let shown = |text: &str| number(&text.parse().expect("a number"));
        assert_eq!(shown("0"), "0");
        assert_eq!(shown("123"), "123");
        assert_eq!(shown("1234567"), "1,234,567");
        assert_eq!(shown("205891132094649000000000"), "about 2.05 x 10^23");
    }

    /// Returns the P4 source of a table with three actions, each of which needs other functions of
    /// a device model. Tables with other numbers differ in these functions, too.
    fn table(number: u32) -> String {
        format!(
            "action a{number}() {{ m.f{number} = 1; }} action b{number}() {{ m.f{number} = 2; h.e.a = 1; }}
             table t{number} {{ key = {{ h.e.b: exact; }} actions = {{ a{number}; b{number}; NoAction; }} }}
            "
        )
    }

    fn large(tables: &str, apply: &str) -> String {
        let fields: String = (0..12).map(|n| format!("bit<{}> f{n}; ", 20 + n)).collect();
        format!(
            "#include <v1model.p4>
            header e_t {{ bit<8> a; bit<16> b; }}
            struct H {{ e_t e; }}
            struct M {{ {fields} }}
            parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {{
                state start {{ p.extract(h.e); transition accept; }}
            }}
            control I(inout H h, inout M m, inout standard_metadata_t s) {{ {tables} apply {{ {apply} }} }}
            control V(inout H h, inout M m) {{ apply {{ }} }}
            control E(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ }} }}
            control D(packet_out p, in H h) {{ apply {{ p.emit(h); }} }}
            V1Switch(P(), V(), I(), E(), V(), D()) main;"
        )
    }
}
