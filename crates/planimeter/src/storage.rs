//! `--storage`: how machine code keeps the entries of a running program's tables, where that is not to be as its
//! `@tableconfig` says. The words are those of `planimeter tables`.

use ::tables::{Design, EntryLock, Placement, Storage, Synchronisation, UpdateMethod, Wait};
use clap::{Arg, ArgMatches};
use ir::{EntryStore, EntryUpdate, Program, TableId};
use pipeline::Switch;

use crate::failure::Failure;
use crate::tables::requirements;
use crate::words::{list, words};

pub(crate) fn argument() -> Arg {
    list("storage", "[TABLE=]DESIGN", "How machine code keeps entries, such as static/locked [@tableconfig]")
        .long_help(
            "How machine code keeps the entries of a table, or of all tables that it keeps: original, dynamic, static or \
             inline, locked or unlocked, and optimistic (workers share them) or sharded (each worker has its own), as \
             planimeter tables has them; static/locked is two of them. What is not said is as @tableconfig has it, or \
             inline, unlocked and optimistic. A design that cannot honour what the program does is refused.",
        )
}

/// Changes the program as the command line asks.
pub(crate) fn choose(program: &mut Program, matches: &ArgMatches) -> Result<(), Failure> {
    let Some(words) = words(matches, "storage") else { return Ok(()) };
    let stored = stored(program)?;
    for word in &words {
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
                return Err(wrong("machine code keeps no table of this program".to_owned()));
            }
            [] => return Err(wrong("the program has no such table".to_owned())),
            [_, _, ..] if name.is_some() => {
                return Err(wrong(
                    "several tables are called so; write more of the name".to_owned(),
                ));
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
                    "machine code does not keep its entries (they have counters, meters, members, groups or time-outs, \
                     or are too wide); leave it as it is",
                ));
            }
            let chosen = design_of(program, id, design).map_err(|why| refused(&why))?;
            if let Some(table) = program.tables.get_mut(id.index()) {
                table.storage.store = EntryStore::named(chosen.storage.name());
                table.storage.synchronised = chosen.entry_lock == EntryLock::PerEntry;
                table.storage.update = match (chosen.synchronisation, table.storage.update) {
                    (Synchronisation::Sharded { .. }, _) => EntryUpdate::Sharded,
                    (_, EntryUpdate::Sharded) => EntryUpdate::InPlace,
                    (_, shared) => shared,
                };
            }
        }
    }
    Ok(())
}

/// Whether a name is that of a table, or the end of it.
fn is_called(table: &str, name: &str) -> bool {
    table.strip_suffix(name).is_some_and(|front| front.is_empty() || front.ends_with('.'))
}

/// The tables that machine code keeps.
fn stored(program: &Program) -> Result<Vec<TableId>, Failure> {
    let mut switch = Switch::new(program.clone()).map_err(Failure::input)?;
    let code = switch.compile().map_err(|error| {
        Failure::input(format!("--storage: machine code cannot run this: {error}"))
    })?;
    let all = (0..program.tables.len() as u32).map(TableId);
    Ok(all.filter(|id| code.stores(*id)).collect())
}

/// What a table has with these words, if the program can be run so.
fn design_of(program: &Program, id: TableId, words: &str) -> Result<Design, String> {
    let table = program.tables.get(id.index()).ok_or("there is no such table")?;
    let store = table.storage.store.and_then(|store| Storage::named(store.name()));
    let mut design = Design::shared(store.unwrap_or(Storage::Inline));
    if !table.storage.synchronised {
        design.entry_lock = EntryLock::None;
    }
    // Packets go to workers by their flow, and not by what this table's key is.
    let sharded = Synchronisation::Sharded { shards: 1, placement: Placement::Replicated };
    if table.storage.update == EntryUpdate::Sharded {
        design.synchronisation = sharded;
    }
    for word in words.split('/') {
        match word {
            "locked" => design.entry_lock = EntryLock::PerEntry,
            "unlocked" => design.entry_lock = EntryLock::None,
            "optimistic" => design.synchronisation = Synchronisation::Optimistic,
            "sharded" => design.synchronisation = sharded,
            "double-buffer" => {
                design.synchronisation = Synchronisation::DoubleBuffer { wait: Wait::Quiescent };
            }
            "pointer" => design.update = UpdateMethod::Pointer,
            "change" => design.update = UpdateMethod::Change,
            "digest" => design.update = UpdateMethod::Digest,
            name => {
                let known = "original, dynamic, static, inline, locked, unlocked, optimistic or sharded is wanted";
                design.storage = Storage::named(name).ok_or_else(|| format!("{name}: {known}"))?;
            }
        }
    }
    let asks = requirements(program, table);
    design.check(asks).map_err(|error| error.to_string())?;
    if let Synchronisation::DoubleBuffer { .. } = design.synchronisation {
        return Err(format!(
            "the workers of a running program share one replica of each table or have one each, and {} is something else: \
             use optimistic or sharded",
            design.synchronisation
        ));
    }
    if design.update != UpdateMethod::Pointer {
        return Err("a running program writes its entries in place: use pointer".to_owned());
    }
    Ok(design)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Command;

    fn chosen(words: &str) -> Result<Program, String> {
        let (_, mut program) =
            crate::bench::paper(&Default::default()).map_err(|failure| failure.to_string())?;
        let command = Command::new("x").arg(argument());
        let matches = command.try_get_matches_from(["x", "--storage", words]).expect("words");
        choose(&mut program, &matches).map_err(|failure| failure.to_string())?;
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
            assert_eq!(storage.update == EntryUpdate::Sharded, sharded, "{words}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_advice() {
        for (words, advice) in [
            ("fast", "inline"),
            ("other=static", "no such table"),
            ("alues=static", "no such table"),
            ("double-buffer", "optimistic"),
            ("double-buffer/change", "optimistic or sharded"),
            ("sharded/locked", "optimistic"),
            ("values=digest", "pointer"),
        ] {
            let refusal = chosen(words).expect_err(words);
            assert!(refusal.contains(words) && refusal.contains(advice), "{words}: {refusal}");
        }
    }
}
