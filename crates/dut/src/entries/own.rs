//! Table entries of a file that the user has given, which a measurement uses instead of generated
//! ones.

use std::collections::HashMap;
use std::sync::Arc;

use entities::schema::{Table, TableId};
use p4runtime::p4info::Schema;
use p4runtime::proto::config::P4Info;
use p4runtime::proto::text;
use p4runtime::proto::v1::{self, entity::Entity as Kind};

use super::{EntryMaker, MakerError, Source, joined, key};
use crate::entry_number::{EntryNumber, Variant};

/// A user's file of table entries, which a measurement uses instead of generated ones.
pub trait EntryFile: std::fmt::Debug + Send + Sync {
    /// Returns the name of the file.
    fn name(&self) -> &str;

    /// Reads the file, and returns its updates for a switch with this P4Info.
    ///
    /// # Errors
    /// Returns a description if the file does not fit the P4Info.
    fn updates(&self, p4info: &P4Info) -> Result<Vec<v1::Update>, String>;
}

/// The table entries of a user's file, which a measurement uses instead of generated ones.
#[derive(Clone, Debug)]
pub struct OwnEntries {
    file: String,
    /// The tables of which the file has entries, in the order in which they first occur in it.
    tables: Vec<(Table, Arc<OwnTable>)>,
}

/// The entries of one table, in the order of the file.
#[derive(Debug)]
pub(super) struct OwnTable {
    pub(super) file: String,
    entries: Vec<OwnEntry>,
    /// The number of updates in the file that the measurement does not write.
    pub(super) left_out: usize,
}

#[derive(Debug)]
struct OwnEntry {
    /// The position in the file, counted from 1, of the update that contains the entry.
    update: usize,
    entry: v1::TableEntry,
    /// The action that the entry has after its modification: that of the next entry of the table
    /// with another action or other parameters. `None` if all entries of the table have the same.
    second: Option<v1::TableAction>,
}

impl OwnEntries {
    /// Reads the table entries of a file, for a switch with this P4Info.
    ///
    /// # Errors
    /// Returns an error if the file does not fit the P4Info, if an update of a table entry is not
    /// an insertion or names an unknown table, if two entries have the same key, or if there is no
    /// entry.
    pub fn new(schema: &Schema, file: &dyn EntryFile) -> Result<Self, MakerError> {
        let name = file.name().to_owned();
        let updates = file
            .updates(schema.p4info())
            .map_err(|why| MakerError::File { file: name.clone(), why })?;
        let mut found: Vec<(Table, Vec<OwnEntry>)> = Vec::new();
        let mut seen: HashMap<(u32, Vec<u8>), usize> = HashMap::new();
        let mut left_out = 0;
        for (update, position) in updates.into_iter().zip(1..) {
            let wrong = |why| MakerError::Update { file: name.clone(), update: position, why };
            let operation = update.r#type;
            let entry = match update.entity.and_then(|entity| entity.entity) {
                Some(Kind::TableEntry(entry)) if !entry.is_default_action => entry,
                Some(_) => {
                    left_out += 1;
                    continue;
                }
                None => return Err(wrong("it has no entity".to_owned())),
            };
            if operation != i32::from(v1::update::Type::Insert) {
                let kind = v1::update::Type::try_from(operation)
                    .map_or("unknown", |kind| kind.as_str_name());
                return Err(wrong(format!(
                    "its type is {kind}; the updates of a measurement are made from entries to be inserted (type INSERT)"
                )));
            }
            if let Some(before) = seen.insert((entry.table_id, key(&entry)), position) {
                return Err(wrong(format!(
                    "it has the key of update {before}; a table has only one entry with a key"
                )));
            }
            let Some(table) = schema.tables().get(TableId(entry.table_id)) else {
                return Err(wrong(format!(
                    "the switch has no table with the id {}; it has {}",
                    entry.table_id,
                    joined(
                        schema
                            .tables()
                            .iter()
                            .map(|table| { format!("{} ({})", table.name, u32::from(table.id)) })
                    )
                )));
            };
            let own = OwnEntry { update: position, entry, second: None };
            match found.iter_mut().find(|(known, _)| known.id == table.id) {
                Some((_, entries)) => entries.push(own),
                None => found.push((table.clone(), vec![own])),
            }
        }
        if found.is_empty() {
            return Err(MakerError::File { file: name, why: "it has no table entries".to_owned() });
        }
        let all: usize = found.iter().map(|(_, entries)| entries.len()).sum();
        let tables = found.into_iter().map(|(table, mut entries)| {
            add_second_actions(&mut entries);
            let left_out = left_out + all - entries.len();
            (table, Arc::new(OwnTable { file: name.clone(), entries, left_out }))
        });
        Ok(Self { tables: tables.collect(), file: name })
    }

    /// Returns the maker of entries for the table with this name or alias. Without a name, chooses
    /// the table of which the file has the most entries.
    ///
    /// # Errors
    /// Returns an error if the file has no entries of the table.
    pub fn maker(&self, name: Option<&str>) -> Result<EntryMaker, MakerError> {
        let is_named =
            |table: &Table| name.is_none_or(|name| table.name == name || table.alias == name);
        let own = self.tables.iter().rev().filter(|(table, _)| is_named(table));
        // Among tables with equally many entries, `max_by_key` returns the last one, which is the
        // first in the file because the order is reversed.
        let most = own.max_by_key(|(_, own)| own.len());
        most.map(of).ok_or_else(|| MakerError::File {
            file: self.file.clone(),
            why: format!(
                "it has no entries of table `{}`; it has entries of {}",
                name.unwrap_or_default(),
                joined(self.tables.iter().map(|(table, _)| table.name.clone()))
            ),
        })
    }

    /// Returns the entries of all tables except `one`. Those of the same table are in the order of
    /// the file.
    #[must_use]
    pub fn of_other_tables(&self, one: TableId) -> Vec<v1::TableEntry> {
        let others = self.tables.iter().filter(|(table, _)| table.id != one);
        others.flat_map(|(_, own)| own.entries.iter().map(|own| own.entry.clone())).collect()
    }

    /// Returns a maker of entries for each table of which the file has entries.
    pub(super) fn makers(&self) -> impl Iterator<Item = EntryMaker> {
        self.tables.iter().map(of)
    }
}

fn of((table, own): &(Table, Arc<OwnTable>)) -> EntryMaker {
    EntryMaker { table: table.clone(), source: Source::Own(Arc::clone(own)) }
}

/// Sets the action that each entry has after its modification: that of the next entry with another
/// action or other parameters. The first entry follows the last one.
fn add_second_actions(entries: &mut [OwnEntry]) {
    let actions: Vec<Option<v1::TableAction>> =
        entries.iter().map(|one| one.entry.action.clone()).collect();
    let count = actions.len();
    let mut next = None;
    // The list is passed through twice from its end, so that the second time the next different
    // action is also known where it comes after the last entry.
    for at in (0..(2 * count).saturating_sub(1)).rev() {
        let [this, after] = [at, at + 1].map(|at| actions.get(at % count));
        if after != this {
            next = after;
        }
        if let Some(own) = entries.get_mut(at) {
            own.second = next.cloned().flatten();
        }
    }
}

impl OwnTable {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns an entry, in one of its two variants, by its position among the entries of the
    /// table; `None` if there are fewer entries.
    pub(super) fn entry(&self, number: EntryNumber, variant: Variant) -> Option<v1::TableEntry> {
        let own = self.get(number)?;
        let mut entry = own.entry.clone();
        if let (Variant::Second, Some(second)) = (variant, &own.second) {
            entry.action = Some(second.clone());
        }
        Some(entry)
    }

    /// Returns whether two entries of the table have different actions or parameters.
    pub(super) fn is_modifiable(&self) -> bool {
        self.entries.iter().any(|one| one.second.is_some())
    }

    /// Returns the identifiers of the actions of the entries, each once, in the order of their
    /// first use. Entries that refer to an action profile have no action of their own.
    pub(super) fn actions(&self) -> Vec<u32> {
        let mut ids = Vec::new();
        for one in &self.entries {
            let Some(v1::table_action::Type::Action(action)) =
                one.entry.action.as_ref().and_then(|action| action.r#type.as_ref())
            else {
                continue;
            };
            if !ids.contains(&action.action_id) {
                ids.push(action.action_id);
            }
        }
        ids
    }

    /// Returns the position of an entry in the file, and the entry's text.
    pub(super) fn quote(&self, number: EntryNumber) -> Option<String> {
        let own = self.get(number)?;
        Some(format!(
            "update {} of {}: {}",
            own.update,
            self.file,
            text("p4.v1.TableEntry", &own.entry)
        ))
    }

    fn get(&self, number: EntryNumber) -> Option<&OwnEntry> {
        self.entries.get(usize::try_from(number.0).ok()?)
    }
}

impl EntryMaker {
    /// Returns the user's file that the entries come from; `None` for generated entries.
    #[must_use]
    pub fn own_file(&self) -> Option<OwnFile> {
        match &self.source {
            Source::Own(own) => Some(OwnFile { name: own.file.clone(), left_out: own.left_out }),
            Source::Made { .. } => None,
        }
    }
}

/// A user's file whose entries a measurement uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnFile {
    /// The name of the file.
    pub name: String,
    /// The number of entities in the file that the measurement does not write: entries of other
    /// tables, default entries, and entities that are not table entries.
    pub left_out: usize,
}

#[cfg(test)]
mod tests {
    use p4runtime::proto::v1::WriteRequest;

    use super::*;
    use crate::entries::Makers;
    use crate::window::Operation;

    /// A file that contains a P4Runtime request in text format.
    #[derive(Debug)]
    struct Text(String);

    impl EntryFile for Text {
        fn name(&self) -> &str {
            "own.txtpb"
        }

        fn updates(&self, _: &P4Info) -> Result<Vec<v1::Update>, String> {
            let request: WriteRequest = p4runtime::proto::parse("p4.v1.WriteRequest", &self.0)?;
            Ok(request.updates)
        }
    }

    fn schema() -> Arc<Schema> {
        crate::testing::schema(include_str!("../../tests/kinds.p4"))
    }

    /// Returns a file with entries of the table `narrow`. Each pair has an entry's key, of which it
    /// is one byte, and the parameter of its action.
    fn narrow(schema: &Schema, entries: &[(u8, u8)]) -> String {
        let table = schema.tables().by_name("narrow").expect("it has one");
        let action = schema.actions().by_name("classify").expect("it has one");
        entries
            .iter()
            .map(|(key, class)| {
                let keys = format!(
                    "match {{ field_id: 1 exact {{ value: \"\\000\\{key:03o}\" }} }} \
                     match {{ field_id: 2 exact {{ value: \"\\001\" }} }}"
                );
                let action = format!(
                    "action {{ action {{ action_id: {} params {{ param_id: 1 value: \"\\{class:03o}\" }} \
                     params {{ param_id: 2 value: \"\\001\" }} }} }}",
                    u32::from(action.id)
                );
                let table = u32::from(table.id);
                format!(
                    "updates {{ type: INSERT entity {{ table_entry {{ table_id: {table} {keys} {action} }} }} }}\n"
                )
            })
            .collect()
    }

    fn own(text: String) -> Result<OwnEntries, MakerError> {
        OwnEntries::new(&schema(), &Text(text))
    }

    fn refusal(text: String) -> String {
        own(text).expect_err("it is refused").to_string()
    }

    /// Returns the first parameter of an entry's action.
    fn class(entry: &v1::TableEntry) -> u8 {
        let action = entry.action.as_ref().and_then(|action| action.r#type.as_ref());
        let Some(v1::table_action::Type::Action(action)) = action else { panic!("{entry:?}") };
        action.params[0].value[0]
    }

    #[test]
    fn a_modification_takes_the_next_action_that_differs() {
        let schema = schema();
        for (classes, second) in [
            (&[1, 2, 2, 3][..], &[2, 3, 3, 1][..]),
            (&[1, 1, 1], &[1, 1, 1]),
            (&[1, 1, 2], &[2, 2, 1]),
            (&[4], &[4]),
        ] {
            let entries: Vec<(u8, u8)> = (1..).zip(classes.iter().copied()).collect();
            let own = own(narrow(&schema, &entries)).expect("it fits");
            let maker = own.maker(None).expect("it has entries");
            assert_eq!(maker.different(), classes.len() as u64);
            let numbers = maker.absent(u64::MAX, &[]).expect("none is there");
            let of = |variant| -> Vec<u8> {
                numbers.iter().map(|number| class(&maker.entry(*number, variant))).collect()
            };
            assert_eq!(of(Variant::First), classes);
            assert_eq!(of(Variant::Second), second);
            assert_eq!(maker.is_modifiable(), classes != second, "{classes:?}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_measured_with_says_which_update_is_wrong() {
        let schema = schema();
        let good = narrow(&schema, &[(1, 1), (2, 2)]);
        let error = refusal(narrow(&schema, &[(1, 1), (2, 1), (1, 2)]));
        assert!(error.contains("own.txtpb, update 3: it has the key of update 1"), "{error}");
        // Also if the values have another number of leading zeros.
        let error = refusal(good.clone() + &good.replace("\\000", ""));
        assert!(error.contains("update 3: it has the key of update 1"), "{error}");
        let table = u32::from(schema.tables().by_name("narrow").expect("it has one").id);
        let error = refusal(good.replace(&format!("table_id: {table}"), "table_id: 7"));
        assert!(error.contains("update 1: the switch has no table with the id 7"), "{error}");
        assert!(error.contains("I.narrow"), "{error}");
        let error = refusal(good.replace("INSERT", "DELETE"));
        assert!(error.contains("update 1: its type is DELETE"), "{error}");
        let error = refusal(String::new());
        assert!(error.contains("it has no table entries"), "{error}");
        let error = refusal("updates { no }".to_owned());
        assert!(error.starts_with("own.txtpb: "), "{error}");
        let known = own(good).expect("it fits");
        let error = known.maker(Some("kinds")).expect_err("it has none").to_string();
        assert!(
            error.contains("no entries of table `kinds`; it has entries of I.narrow"),
            "{error}"
        );
    }

    #[test]
    fn an_entry_that_the_switch_has_is_refused_and_quoted() {
        let schema = schema();
        let maker =
            own(narrow(&schema, &[(1, 1), (2, 2)])).and_then(|own| own.maker(Some("narrow")));
        let maker = maker.expect("it has entries");
        let mut there = maker.entry(EntryNumber(1), Variant::Second);
        // A switch returns values without leading zeros (P4Runtime 1.5, section 8.3).
        let Some(v1::field_match::FieldMatchType::Exact(exact)) =
            &mut there.r#match[0].field_match_type
        else {
            panic!("{there:?}")
        };
        exact.value = vec![2].into();
        let error = maker.absent(1, &[key(&there)]).expect_err("it is there").to_string();
        assert!(error.contains("the switch has an entry with the key of update 2"), "{error}");
        assert!(error.contains("table_entry") || error.contains("table_id"), "{error}");
    }

    #[test]
    fn entries_are_written_as_the_file_has_them() {
        let schema = schema();
        let text = narrow(&schema, &[(9, 1)]);
        let request: WriteRequest =
            p4runtime::proto::parse("p4.v1.WriteRequest", &text).expect("a request");
        let file = Arc::new(own(text).expect("it fits"));
        let makers = Makers::new(Arc::clone(&schema), Some(file));
        let maker = makers.choose(None).expect("it has entries");
        assert_eq!(maker.update(EntryNumber(0), Operation::Insert), request.updates[0]);
    }
}
