//! `--storage`: chooses how machine code stores the entries of tables, overriding the program's
//! `@tableconfig`. The names are those of `planimeter tables`.

use std::path::Path;

use ::tables::{Design, EntryLock, Storage, Synchronisation, UpdateMethod, Wait};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use ir::{EntryStore, Program, Replicas, TableId};
use pipeline::{Switch, table_design};

use crate::failure::Failure;
use crate::parsers::{List, list_of};
use crate::program::{self, Sources};
use crate::tables::requirements;

/// The flags that say how a program is read, and `--storage`.
#[derive(Debug, Default, Clone, Args)]
pub(crate) struct Stored {
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// The table design of the compiled program, such as static/locked [@tableconfig]
    #[arg(
        long,
        value_name = "[TABLE=]DESIGN",
        help_heading = program::HEADING,
        value_parser = list_of("a design", |word| Some(vec![word.to_owned()])),
        long_help = "The design of a table, or of all tables, in the compiled program: its storage (original, dynamic, \
                     static or inline), its locks (locked or unlocked), its synchronization (optimistic, in which workers \
                     share entries, sharded, in which each worker has its own, or double-buffer, with two replicas), and \
                     the method by which packets update entries (pointer, change or digest). planimeter tables --help \
                     describes them. Join several with a slash, as in static/locked. The rest is as @tableconfig in the \
                     program says, or else inline, unlocked, optimistic and pointer. A design that does not support what \
                     the program does is refused."
    )]
    storage: Vec<List<String>>,
}

impl Stored {
    /// Parses `--storage`, and the flags that say how a program is read, from the matches of a
    /// command whose other flags are not derived with clap.
    pub(crate) fn of(matches: &ArgMatches) -> Result<Self, Failure> {
        Self::from_arg_matches(matches).map_err(Failure::input)
    }

    /// Returns the definitions of `--storage`, and of the flags that say how a program is read, for
    /// a command whose other flags are not derived with clap.
    pub(crate) fn arguments() -> Vec<Arg> {
        Self::augment_args(Command::default()).get_arguments().cloned().collect()
    }

    /// Reads a program from the file at `path`, and applies the table designs of `--storage`.
    pub(crate) fn load(&self, path: &Path) -> Result<Program, Failure> {
        let mut program = program::load(path, &self.sources)?;
        self.choose(&mut program)?;
        Ok(program)
    }

    /// Applies the table designs of `--storage` to a program. Without the flag, changes nothing.
    pub(crate) fn choose(&self, program: &mut Program) -> Result<(), Failure> {
        match List::join(&self.storage) {
            Some(words) => choose(program, &words),
            None => Ok(()),
        }
    }
}

/// Sets the designs of tables that the values of `--storage` choose.
fn choose(program: &mut Program, words: &[String]) -> Result<(), Failure> {
    let stored = stored(program)?;
    for word in words {
        let wrong = |what: String| Failure::input(format!("--storage {word}: {what}"));
        let (name, design) = match word.split_once('=') {
            Some((name, design)) => (Some(name), design),
            None => (None, word.as_str()),
        };
        let is_meant = |id: &TableId| match (name, program.tables.get(id.index())) {
            (Some(name), Some(table)) => is_called(&table.name, name),
            (None, _) => stored.contains(id),
            _ => false,
        };
        let all = (0..program.tables.len() as u32).map(TableId);
        let meant: Vec<TableId> = all.filter(is_meant).collect();
        match meant.as_slice() {
            [] if name.is_none() => {
                return Err(wrong(
                    "this program has no table whose design can be chosen".to_owned(),
                ));
            }
            [] => return Err(wrong("the program has no such table".to_owned())),
            [_, _, ..] if name.is_some() => {
                return Err(wrong("several tables have this name; write more of it".to_owned()));
            }
            _ => {}
        }
        for id in meant {
            let refused = |why: &str| {
                let table = program.tables.get(id.index()).map_or("", |table| &table.name);
                wrong(format!("table {table}: {why}"))
            };
            if !stored.contains(&id) {
                return Err(refused(
                    "its design cannot be chosen (its entries have counters, meters, members, groups or time-outs, \
                     or are too wide); leave it as it is",
                ));
            }
            let chosen = design_of(program, id, design).map_err(|why| refused(&why))?;
            if let Some(table) = program.tables.get_mut(id.index()) {
                table.storage.store = EntryStore::named(chosen.storage.name());
                table.storage.synchronised = chosen.entry_lock == EntryLock::PerEntry;
                table.storage.replicas = match chosen.synchronisation {
                    Synchronisation::Sharded { .. } => Replicas::Sharded,
                    Synchronisation::DoubleBuffer { .. } => Replicas::Two,
                    Synchronisation::Optimistic => Replicas::One,
                };
                table.storage.update = match chosen.update {
                    UpdateMethod::Pointer => ir::UpdateMethod::Pointer,
                    UpdateMethod::Change => ir::UpdateMethod::Change,
                    UpdateMethod::Digest => ir::UpdateMethod::Digest,
                };
            }
        }
    }
    Ok(())
}

/// Returns whether `name` is the name of the table `table`, or the end of that name after a dot.
fn is_called(table: &str, name: &str) -> bool {
    table.strip_suffix(name).is_some_and(|front| front.is_empty() || front.ends_with('.'))
}

/// Returns the tables of a program whose entries are stored by machine code.
fn stored(program: &Program) -> Result<Vec<TableId>, Failure> {
    let mut switch = Switch::new(program.clone()).map_err(Failure::input)?;
    let code = switch.compile().map_err(|error| Failure::input(format!("--storage: {error}")))?;
    let all = (0..program.tables.len() as u32).map(TableId);
    Ok(all.filter(|id| code.stores(*id)).collect())
}

/// Returns the design of a table, changed by the words of `--storage`, such as `static/locked`.
/// Returns an error if the program cannot run with this design.
fn design_of(program: &Program, id: TableId, words: &str) -> Result<Design, String> {
    let table = program.tables.get(id.index()).ok_or("there is no such table")?;
    let mut design = table_design(table.storage);
    let sharded = Synchronisation::sharded(1);
    let double = Synchronisation::DoubleBuffer { wait: Wait::Quiescent };
    for word in words.split('/') {
        match word {
            "locked" => design.entry_lock = EntryLock::PerEntry,
            "unlocked" => design.entry_lock = EntryLock::None,
            "optimistic" => design.synchronisation = Synchronisation::Optimistic,
            "sharded" => design.synchronisation = sharded,
            "double-buffer" => design.synchronisation = double,
            "pointer" => design.update = UpdateMethod::Pointer,
            "change" => design.update = UpdateMethod::Change,
            "digest" => design.update = UpdateMethod::Digest,
            name => {
                let known = "original, dynamic, static, inline, locked, unlocked, optimistic, sharded, \
                             double-buffer, pointer, change or digest was expected";
                design.storage = Storage::named(name).ok_or_else(|| format!("{name}: {known}"))?;
            }
        }
    }
    let mut asks = requirements(program, table);
    // A table that packets only read may have two replicas too. A program that requests digests
    // accepts the updates that they lose.
    match design.update {
        UpdateMethod::Pointer if !asks.reference_parameters => {
            if let Synchronisation::DoubleBuffer { .. } = design.synchronisation {
                design.update = UpdateMethod::Change;
            }
        }
        UpdateMethod::Digest => asks.reference_parameters = false,
        UpdateMethod::Pointer | UpdateMethod::Change => {}
    }
    design.check(asks).map_err(|error| error.to_string())?;
    Ok(design)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(words: &str) -> Result<Program, String> {
        let (_, mut program) =
            crate::bench::paper(&Default::default()).map_err(|failure| failure.to_string())?;
        let command = Command::new("x").args(Stored::arguments());
        let matches = command.try_get_matches_from(["x", "--storage", words]).expect("words");
        let stored = Stored::of(&matches).expect("flags");
        stored.choose(&mut program).map_err(|failure| failure.to_string())?;
        Ok(program)
    }

    #[test]
    fn a_design_is_chosen_for_one_table_or_for_all() {
        for (words, store, locked) in [
            ("static", EntryStore::Static, false),
            ("values=original/locked", EntryStore::Original, true),
            ("UpdateIngress.values=dynamic/optimistic/pointer", EntryStore::Dynamic, false),
            ("locked,values=static", EntryStore::Static, true),
            ("locked", EntryStore::Inline, true),
            ("sharded/static", EntryStore::Static, false),
        ] {
            let storage = chosen(words).expect(words).tables[0].storage;
            assert_eq!((storage.store, storage.synchronised), (Some(store), locked), "{words}");
            let sharded = words.contains("sharded");
            assert_eq!(storage.replicas == Replicas::Sharded, sharded, "{words}");
            assert_eq!(storage.update, ir::UpdateMethod::Pointer, "{words}");
        }
    }

    #[test]
    fn methods_of_change_are_designs_too() {
        use ir::UpdateMethod::{Change, Digest};
        for (words, replicas, update) in [
            ("double-buffer/change", Replicas::Two, Change),
            ("values=static/change", Replicas::One, Change),
            ("digest", Replicas::One, Digest),
            ("values=double-buffer/digest", Replicas::Two, Digest),
        ] {
            let storage = chosen(words).expect(words).tables[0].storage;
            assert_eq!((storage.replicas, storage.update), (replicas, update), "{words}");
        }
    }

    #[test]
    fn invalid_designs_are_refused_with_advice() {
        for (words, advice) in [
            ("fast", "inline"),
            ("other=static", "no such table"),
            ("alues=static", "no such table"),
            ("double-buffer", "change"),
            ("double-buffer/change/locked", "optimistic"),
            ("sharded/locked", "optimistic"),
            ("values=sharded/digest", "double-buffer"),
            ("values=change/locked", "pointer"),
        ] {
            let refusal = chosen(words).expect_err(words);
            assert!(refusal.contains(words) && refusal.contains(advice), "{words}: {refusal}");
        }
    }
}
