//! `planimeter tables --predict`: predicts the memory and cache use of table designs, and
//! recommends one.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use ::tables::cache;
use ::tables::machine::caches;
use ::tables::{Design, EntryLock, ExactTable, Fill, Layout, Model, Requirements, Storage, Wait};
use ir::{Action, MatchKind, Program, Table, TableId};
use provenance::Provenance;
use report::page::document::{Document, Section};
use report::page::{Cell, Table as Figures};
use report::value::Value;
use statistics::Unit;

use super::Arguments;
use crate::failure::Failure;
use crate::invocation;
use crate::output;
use crate::program;

/// The size that is assumed for a table whose program states none. It is p4c's default.
const DEFAULT_SIZE: usize = 1024;

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let started = invocation::start();
    let question = Question {
        fill: arguments.shapes.fill,
        caches: caches_of(arguments.prediction.cache),
        cores: arguments
            .shapes
            .cores()
            .and_then(|cores| cores.into_iter().max())
            .unwrap_or_else(|| provenance::cores() as usize),
        shared: arguments.prediction.shared,
    };
    let subjects = match &arguments.program {
        Some(path) => of_program(path, &program::load(path, &arguments.sources)?)?,
        None => given(arguments)?,
    };
    let document = question.document(&subjects, started.provenance());
    let text = || {
        let answers: Vec<String> =
            subjects.iter().map(|subject| question.answer(subject)).collect();
        answers.join("\n\n") + "\n"
    };
    arguments.output.printed().leave("tables-predict", &document, text, &[])?;
    Ok(ExitCode::SUCCESS)
}

/// A text that says which memory of a table a prediction counts.
const COUNTED: &str = "Keys, pointers and entries of one replica; the hash index of all but inline is not \
                       counted.";

/// A table whose memory and cache use is predicted.
pub(super) struct Subject {
    pub(super) name: String,
    /// The layout of the table's entries, or the reason why no design can store the table.
    pub(super) layout: Result<Layout, String>,
    /// The requirements that the program places on the table's design.
    pub(super) asks: Requirements,
}

/// The parameters that the predictions for all tables share.
struct Question {
    fill: Fill,
    caches: Vec<(String, usize)>,
    cores: usize,
    shared: bool,
}

impl Question {
    /// Returns the number of entries that a table with this layout is assumed to contain.
    fn filled(&self, layout: &Layout) -> usize {
        (self.fill.share() * layout.size() as f64).round() as usize
    }

    /// Returns the predictions for all tables, with a section for each.
    fn document(&self, subjects: &[Subject], provenance: Provenance) -> Document {
        let sections = (1..).zip(subjects).map(|(number, subject): (usize, &Subject)| {
            let (text, tables) = match &subject.layout {
                Err(reason) => (vec![reason.clone()], Vec::new()),
                Ok(layout) => {
                    let (model, filled) = (Model::new(*layout), self.filled(layout));
                    let text = self.recommendation(&model, layout, subject.asks, filled);
                    (text, vec![self.figures(&model, filled), shape(subject, layout, filled)])
                }
            };
            let title = subject.name.clone();
            Section { id: format!("table-{number}"), title, text, tables, ..Section::default() }
        });
        Document {
            kind: "tables --predict",
            title: "Predicted memory and cache fit of tables".to_owned(),
            findings: Vec::new(),
            notes: vec![COUNTED.to_owned()],
            partial: None,
            claims: Vec::new(),
            sections: sections.collect(),
            provenance,
        }
    }

    /// Returns the memory that a table takes with each storage, and the number of entries that fit
    /// each cache.
    fn figures(&self, model: &Model, filled: usize) -> Figures {
        let fits: Vec<String> =
            self.caches.iter().map(|(name, _)| format!("entries that fit {name}")).collect();
        let mut columns = vec!["storage", "memory", "memory per entry"];
        columns.extend(fits.iter().map(String::as_str));
        let mut table = Figures::of_values("Memory", columns);
        let figure = |number: f64, unit| Cell::from(Value::new(number, unit));
        for storage in Storage::ALL {
            let bytes = model.memory(storage, filled) as f64;
            let each = (filled > 0).then(|| figure(bytes / filled as f64, Unit::Bytes));
            let mut cells = vec![Cell::text(storage.to_string())];
            cells.extend([figure(bytes, Unit::Bytes), each.unwrap_or_default()]);
            cells.extend(self.caches.iter().map(|(_, cache)| {
                figure(model.entries_in_cache(storage, *cache) as f64, Unit::Count)
            }));
            table.row(cells);
        }
        table
    }

    /// Returns the prediction for a table and the recommended design, as text.
    fn answer(&self, subject: &Subject) -> String {
        let layout = match &subject.layout {
            Ok(layout) => layout,
            Err(reason) => {
                let text = output::layout().text("", &format!("{}: {reason}", subject.name));
                return text.trim_end().to_owned();
            }
        };
        let model = Model::new(*layout);
        let filled = self.filled(layout);
        let mut text = format!(
            "{}\n  key of {} bits, parameters of {} B, {} entries, {} filled\n\n",
            subject.name,
            layout.key_bits(),
            layout.parameter_bytes(),
            grouped(layout.size()),
            grouped(filled)
        );
        let _ = write!(text, "  {:<10}{:>14}{:>13}", "storage", "memory, B", "B per entry");
        for (name, _) in &self.caches {
            let _ = write!(text, "{:>13}", format!("fit in {name}"));
        }
        for storage in Storage::ALL {
            let bytes = model.memory(storage, filled);
            let each = if filled == 0 { 0.0 } else { bytes as f64 / filled as f64 };
            let _ = write!(text, "\n  {storage:<10}{:>14}{each:>13.1}", grouped(bytes));
            for (_, cache) in &self.caches {
                let _ = write!(text, "{:>13}", grouped(model.entries_in_cache(storage, *cache)));
            }
        }
        let even = model.break_even_fill().share() * 100.0;
        let remark =
            format!("static takes no more than dynamic from a fill of {even:.0} % on. {COUNTED}");
        text.push_str("\n\n");
        text.push_str(&output::layout().text("  ", &remark));
        text.push('\n');
        let recommendation = self.recommendation(&model, layout, subject.asks, filled);
        for (number, line) in recommendation.iter().enumerate() {
            let indent = if number == 0 { "  " } else { "    " };
            text.push_str(&output::layout().text(indent, line));
        }
        text.truncate(text.trim_end().len());
        text
    }

    /// Returns the recommended design followed by the reasons for it, or the reason why no design
    /// can be recommended.
    fn recommendation(
        &self,
        model: &Model,
        layout: &Layout,
        asks: Requirements,
        filled: usize,
    ) -> Vec<String> {
        let asks = Requirements { shared_entries: asks.shared_entries || self.shared, ..asks };
        let writes = asks.reference_parameters || asks.add_on_miss || asks.shared_entries;
        let (design, why) = if asks.shared_entries {
            (
                Design::shared(Storage::Inline),
                "packets on different cores write the same entry: one replica, and a lock per entry \
                 so that no write is lost",
            )
        } else if writes && self.cores > 1 {
            (
                Design::sharded(self.cores),
                "packets write entries and each flow stays on its core: a table per core needs no \
                 lock and moves no cache line between cores",
            )
        } else {
            (
                Design { entry_lock: EntryLock::None, ..Design::shared(Storage::Inline) },
                if writes {
                    "packets write entries on one core: one replica, written in place, without lock"
                } else {
                    "packets only read: one replica, whose readers take no lock"
                },
            )
        };
        // A design with which the program would be refused is not recommended.
        if let Err(error) = design.check(asks) {
            return vec![format!("No design fits: {error}")];
        }
        let (inline, dynamic) =
            (model.memory(Storage::Inline, filled), model.memory(Storage::Dynamic, filled));
        let mut remarks = vec![
            format!("Recommended: {design}"),
            format!("{why}."),
            format!(
                "Inline storage finds key, action and parameters together: {} B in place of {} B for dynamic storage at \
                 this fill.",
                grouped(inline),
                grouped(dynamic)
            ),
        ];
        if inline > dynamic {
            let text = "It reserves the declared size; if memory is what you lack, dynamic storage takes less here.";
            remarks.push(text.to_owned());
        }
        let fits = |(_, bytes): &&(String, usize)| {
            model.entries_in_cache(Storage::Inline, *bytes) >= layout.size()
        };
        if let Some((name, _)) = self.caches.iter().find(fits) {
            remarks.push(format!("The whole table fits {name}."));
        } else if !self.caches.is_empty() {
            let text = "The whole table fits no cache: batches with prefetch hide the misses.";
            remarks.push(text.to_owned());
        }
        let seed = Design::double_buffer(Storage::Dynamic, Wait::PAPER);
        if let Err(error) = seed.check(asks) {
            remarks.push(format!("Not {seed}: {error}."));
        }
        remarks
    }
}

/// Returns the dimensions of a table, and the smallest share of filled entries at which static
/// storage takes no more memory than dynamic storage.
fn shape(subject: &Subject, layout: &Layout, filled: usize) -> Figures {
    let columns = ["name", "key bits", "parameters", "entries", "filled", "break-even fill"];
    let mut table = Figures::of_values("Shape", columns);
    let figure = |number: f64, unit| Cell::from(Value::new(number, unit));
    table.row([
        Cell::text(subject.name.clone()),
        figure(f64::from(layout.key_bits()), Unit::Count),
        figure(layout.parameter_bytes() as f64, Unit::Bytes),
        figure(layout.size() as f64, Unit::Count),
        figure(filled as f64, Unit::Count),
        figure(Model::new(*layout).break_even_fill().share(), Unit::Fraction),
    ]);
    table
}

/// Returns a table for each combination of sizes, key widths and parameter bytes that the flags
/// name.
fn given(arguments: &Arguments) -> Result<Vec<Subject>, Failure> {
    let missing = |flag: &str| {
        Failure::input(format!(
            "--predict needs {flag} as well, or a program whose tables have it: planimeter tables --predict --help"
        ))
    };
    let Arguments { shapes, prediction, .. } = arguments;
    let key_bits = shapes.key_bits().ok_or_else(|| missing("--key-bits"))?;
    let bytes = shapes.parameter_bytes().ok_or_else(|| missing("--parameter-bytes"))?;
    let sizes = shapes.sizes().ok_or_else(|| missing("--size"))?;
    let asks =
        Requirements { reference_parameters: prediction.references, ..Requirements::default() };
    let mut subjects = Vec::new();
    for &size in &sizes {
        for &bits in &key_bits {
            for &bytes in &bytes {
                let layout = Layout::new(bits, bytes, size).map_err(Failure::input)?;
                subjects.push(Subject { name: "table".to_owned(), layout: packed(layout), asks });
            }
        }
    }
    Ok(subjects)
}

/// Returns all tables of the program that was read from `path`, for a prediction. Returns an error
/// if it has no tables.
pub(super) fn of_program(path: &Path, program: &Program) -> Result<Vec<Subject>, Failure> {
    if program.tables.is_empty() {
        return Err(Failure::input(format!("{} has no tables", path.display())));
    }
    Ok((0..program.tables.len()).map(|index| of_table(program, TableId(index as u32))).collect())
}

fn of_table(program: &Program, id: TableId) -> Subject {
    let table = &program.tables[id.index()];
    let asks = requirements(program, table);
    Subject { name: table.name.clone(), layout: layout(program, table), asks }
}

/// Returns the properties that a program requires of the design of one of its tables.
pub(crate) fn requirements(program: &Program, table: &Table) -> Requirements {
    Requirements {
        reference_parameters: actions(program, table)
            .any(|action| action.control_plane_parameters().any(|parameter| parameter.reference)),
        shared_entries: false,
        add_on_miss: table.add_on_miss,
    }
}

/// Returns the actions of a program that the entries of a table may name.
fn actions<'p>(program: &'p Program, table: &'p Table) -> impl Iterator<Item = &'p Action> {
    table.actions.iter().filter_map(|reference| program.actions.get(reference.action.index()))
}

/// Returns the layout of a table's entries, or the reason why no design can store the table.
fn layout(program: &Program, table: &Table) -> Result<Layout, String> {
    let keys = || table.keys.iter().filter(|key| key.match_kind != MatchKind::Selector);
    if keys().next().is_none() {
        return Err("no key, so there is only the default action to store".to_owned());
    }
    if let Some(key) = keys().find(|key| key.match_kind != MatchKind::Exact) {
        return Err(format!(
            "key {} does not match exactly; the storage designs are for exact keys",
            key.name
        ));
    }
    let width = |ty| program.types.width_in_bits(ty).unwrap_or(32);
    let key_bits: u64 = keys().map(|key| width(key.expression.type_id)).sum();
    let bytes = |action: &Action| -> u64 {
        let widths = action.control_plane_parameters().map(|parameter| width(parameter.type_id));
        widths.map(|bits| bits.div_ceil(8)).sum()
    };
    let parameter_bytes = actions(program, table).map(bytes).max().unwrap_or(0);
    let size = table.size.unwrap_or(DEFAULT_SIZE as u64);
    let fits = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let actions = u16::try_from(table.actions.len()).unwrap_or(u16::MAX).max(1);
    let bits = u32::try_from(key_bits).unwrap_or(u32::MAX);
    let layout = Layout::new(bits, fits(parameter_bytes), fits(size))
        .and_then(|layout| layout.with_actions(actions))
        .map_err(|error| error.to_string())?;
    packed(layout)
}

/// Returns `layout`, or an error if machine code cannot store entries with this layout.
fn packed(layout: Layout) -> Result<Layout, String> {
    ExactTable::check(&layout).map(|()| layout).map_err(|error| error.to_string())
}

/// Returns each cache of this machine with its name and its size in bytes, or only a cache of the
/// size `given`. The size of the machine's last cache is measured. If it clearly differs from the
/// size that the processor reports, a message is printed.
fn caches_of(given: Option<usize>) -> Vec<(String, usize)> {
    if let Some(bytes) = given {
        return vec![("cache".to_owned(), bytes)];
    }
    let caches = caches();
    let measured = cache::measure(&caches, &AtomicBool::new(false));
    let caches = cache::with_measured(caches, measured);
    for cache in caches.iter().filter(|cache| !cache.agrees()) {
        eprintln!("planimeter: {cache}; the prediction is for the measured size");
    }
    caches.iter().map(|cache| (format!("L{}", cache.level), cache.bytes)).collect()
}

/// Formats a number with commas between groups of three digits.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped() {
        assert_eq!([0, 999, 1000, 178_734].map(grouped), ["0", "999", "1,000", "178,734"]);
    }

    /// The recommended design satisfies the requirements, for each combination of requirements.
    #[test]
    fn recommendations_meet_the_requirements() {
        let layout = Layout::new(32, 9, 1 << 20).expect("a layout");
        for cores in [1, 2, 16] {
            for (shared, reference_parameters, add_on_miss) in [
                (false, false, false),
                (true, true, false),
                (false, true, true),
                (true, false, true),
            ] {
                let question = Question {
                    fill: Fill::new(0.5).expect("a fill"),
                    caches: vec![("cache".to_owned(), 15 << 20)],
                    cores,
                    shared,
                };
                let asks =
                    Requirements { reference_parameters, add_on_miss, shared_entries: false };
                let subject = Subject { name: "t".to_owned(), layout: Ok(layout), asks };
                let answer = question.answer(&subject);
                assert!(answer.contains("Recommended: inline"), "{answer}");
                assert!(answer.contains("178,734") && answer.contains("491,520"), "{answer}");
            }
        }
    }
}
