//! Reads settings from TOML files, with line numbers for error messages, and writes them.
//!
//! TOML values are converted to the texts that flags take, so that one parser serves both. Keys may
//! be written dotted, in tables or in inline tables.

use std::ops::Range;
use std::path::{Path, PathBuf};

use toml_edit::{Array, Document, Item, Key, TableLike, Value};

use super::collection::{ResolvedValue, Settings, WrittenValue, base_of, is_tables};
use super::error::{Origin, Problem};
use super::setting::{Kind, Section, Setting};
use super::value::{OverrideField, alternatives, check_override_field};

/// Reads the text of a TOML file, and adds its values to the settings.
pub(super) fn read(settings: &mut Settings, text: &str, file: &Path) {
    let mut reader = Reader { settings, text, file: file.to_owned() };
    match Document::parse(text) {
        Ok(document) => reader.table(document.as_table(), ""),
        Err(error) => {
            let origin = reader.at(error.span());
            // The parser's message has several lines and quotes the source. Its first line names
            // the problem.
            let message = error.message().lines().next().unwrap_or("this is not TOML").to_owned();
            // TOML integers end at 2^63 - 1; ids and cookies may be larger.
            let remedy = message.contains("overflow").then(|| "the number in quotes".to_owned());
            reader.settings.complain(Problem { origin, name: String::new(), message, remedy });
        }
    }
}

/// A reader of one TOML file, which adds the values in the file to the settings.
struct Reader<'a> {
    settings: &'a mut Settings,
    text: &'a str,
    file: PathBuf,
}

impl Reader<'_> {
    fn at(&self, span: Option<Range<usize>>) -> Origin {
        let line = span
            .and_then(|span| self.text.get(..span.start))
            .map_or(1, |before| before.bytes().filter(|byte| *byte == b'\n').count() + 1);
        Origin::File { file: self.file.clone(), line }
    }

    fn complain(&mut self, origin: Origin, name: &str, message: String, remedy: Option<String>) {
        self.settings.complain(Problem { origin, name: name.to_owned(), message, remedy });
    }

    /// Reads all settings in a table. `prefix` is the beginning of their keys.
    fn table(&mut self, table: &dyn TableLike, prefix: &str) {
        for (name, item) in table.iter() {
            let key = format!("{prefix}{name}");
            let span = table.key(name).and_then(Key::span).or_else(|| item.span());
            match Setting::by_key(&key) {
                Some(setting) if is_tables(setting) => self.tables(setting, item, span),
                Some(setting) => self.value(setting, item, span),
                None => {
                    let inner = format!("{key}.");
                    let known = Setting::all().any(|setting| setting.key.starts_with(&inner));
                    match item.as_table_like() {
                        Some(table) if known => self.table(table, &inner),
                        None if known => {
                            let origin = self.at(span);
                            let message = "is a table of settings, not a value".to_owned();
                            self.complain(
                                origin,
                                &key,
                                message,
                                Some(format!("[{key}] on a line of its own")),
                            );
                        }
                        _ => {
                            let problem = unknown_key(&key, self.at(span));
                            self.settings.complain(problem);
                        }
                    }
                }
            }
        }
    }

    /// Reads the value of a setting, which may be a list of values.
    fn value(&mut self, setting: &'static Setting, item: &Item, span: Option<Range<usize>>) {
        let origin = self.at(span);
        match item.as_value() {
            Some(Value::Array(array)) if setting.kind == Kind::List => {
                // An empty array still replaces the values from a file of OFCProbe or P4RCProbe.
                if array.is_empty() {
                    self.settings.push_empty(setting, &origin);
                }
                self.list(setting, array);
            }
            Some(value) => match scalar(value) {
                Some(text) => self.settings.push(setting, WrittenValue::new(text, origin)),
                None => self.wrong_type(setting, value.type_name(), origin),
            },
            None => self.wrong_type(setting, item.type_name(), origin),
        }
    }

    fn list(&mut self, setting: &'static Setting, array: &Array) {
        for element in array {
            let origin = self.at(element.span());
            match scalar(element) {
                Some(text) => self.settings.push(setting, WrittenValue::new(text, origin)),
                None => self.wrong_type(setting, element.type_name(), origin),
            }
        }
    }

    fn wrong_type(&mut self, setting: &Setting, found: &str, origin: Origin) {
        let message = format!("takes a single value, not {}", with_article(found));
        let remedy = format!("for instance {}", example(setting));
        self.complain(origin, setting.key, message, Some(remedy));
    }

    /// Reads the value of a setting that is a list of tables, such as `[[switch]]`. Every table is
    /// converted to the text that the flag takes.
    fn tables(&mut self, setting: &'static Setting, item: &Item, span: Option<Range<usize>>) {
        let origin = self.at(span);
        if let Some(array) = item.as_array_of_tables() {
            for table in array {
                let origin = self.at(table.span());
                self.switch(setting, table, origin);
            }
        } else if let Some(array) = item.as_array() {
            if array.is_empty() {
                self.settings.push_empty(setting, &origin);
            }
            for element in array {
                let origin = self.at(element.span());
                match element {
                    Value::InlineTable(table) => self.switch(setting, table, origin),
                    Value::String(text) => {
                        self.settings
                            .push(setting, WrittenValue::new(text.value().clone(), origin));
                    }
                    _ => {
                        let message = "is a list of tables".to_owned();
                        self.complain(origin, setting.key, message, Some(tables_remedy(setting)));
                    }
                }
            }
        } else {
            let message = "is a list of tables".to_owned();
            self.complain(origin, setting.key, message, Some(tables_remedy(setting)));
        }
    }

    /// Converts one table `[[switch]]` to the text of an override, which changes settings of single
    /// switches.
    fn switch(&mut self, setting: &'static Setting, table: &dyn TableLike, origin: Origin) {
        let mut entry = WrittenValue::new(String::new(), origin);
        let mut index = None;
        let mut fields = Vec::new();
        for (name, item) in table.iter() {
            let span = table.key(name).and_then(Key::span).or_else(|| item.span());
            let at = self.at(span);
            let key = format!("{}.{name}", setting.key);
            let problem = |message: String, remedy: String| Problem {
                origin: at.clone(),
                name: key.clone(),
                message,
                remedy: Some(remedy),
            };
            let Some(field) = OverrideField::by_name(name) else {
                let names: Vec<_> = OverrideField::ALL.iter().map(|field| field.name()).collect();
                let message = "unknown key".to_owned();
                entry.problems.push(problem(message, alternatives(&names)));
                continue;
            };
            let Some(text) = item.as_value().and_then(scalar) else {
                let message =
                    format!("takes a single value, not {}", with_article(item.type_name()));
                entry.problems.push(problem(message, field_example(field)));
                continue;
            };
            if let Err(rejection) = check_override_field(field, &text, base_of(&at)) {
                let remedy = rejection.remedy(&field_example(field));
                let message = rejection.message;
                entry.problems.push(Problem { origin: at, name: key, message, remedy });
                continue;
            }
            match field {
                OverrideField::Index => index = Some(text),
                _ => fields.push(format!("{name}={text}")),
            }
        }
        match index {
            Some(index) if !fields.is_empty() => {
                entry.text = format!("{index}:{}", fields.join(","));
            }
            // The check above rejected the field, so its absence is not reported again.
            _ if entry.problems.is_empty() => {
                let what = if index.is_none() { "index" } else { "the differences" };
                entry.problems.push(Problem {
                    origin: entry.origin.clone(),
                    name: setting.key.to_owned(),
                    message: format!("the table lacks {what}"),
                    remedy: Some("index = \"0-9\" and for instance rate = 500 below it".to_owned()),
                });
            }
            _ => {}
        }
        self.settings.push(setting, entry);
    }
}

/// Returns the example of a setting as it would be written in a TOML file.
pub(super) fn example(setting: &Setting) -> String {
    let name = setting.key.rsplit('.').next().unwrap_or_default();
    format!("{name} = {}", literal(setting.example))
}

fn field_example(field: OverrideField) -> String {
    format!("{} = {}", field.name(), literal(field.example()))
}

fn tables_remedy(setting: &Setting) -> String {
    format!("[[{}]] on a line of its own, and index = \"0-9\" below it", setting.key)
}

fn with_article(type_name: &str) -> String {
    let article = if type_name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {type_name}")
}

/// Returns the text of a TOML value, or `None` for an array or a table.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.value().clone()),
        Value::Integer(number) => Some(number.value().to_string()),
        Value::Float(number) => Some(number.value().to_string()),
        Value::Boolean(truth) => Some(truth.value().to_string()),
        Value::Datetime(_) | Value::Array(_) | Value::InlineTable(_) => None,
    }
}

/// Returns the problem to report for a key that does not exist. It advises the known key that is
/// most similar.
pub(super) fn unknown_key(key: &str, origin: Origin) -> Problem {
    let remedy = nearest(key);
    let message = match remedy {
        Some(_) => "unknown key",
        None => "unknown key; planimeter probe --help lists all",
    };
    Problem { origin, name: key.to_owned(), message: message.to_owned(), remedy }
}

/// Returns the known key that is most similar to an unknown one, or `None` if none is similar
/// enough.
fn nearest(key: &str) -> Option<String> {
    let plain = key.to_lowercase().replace('_', "-");
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    // Finds a key whose last part is right but whose table is wrong, and the name of a flag.
    let own = last(&plain);
    let misplaced = Setting::all()
        .find(|setting| setting.key == plain)
        .or_else(|| Setting::all().find(|setting| last(setting.key) == own))
        .or_else(|| Setting::all().find(|setting| setting.flag == own));
    if let Some(setting) = misplaced {
        return Some(setting.key.to_owned());
    }
    let tables = Section::ALL.iter().filter_map(|section| {
        section.settings().first()?.key.split_once('.').map(|(table, _)| table)
    });
    Setting::all()
        .map(|setting| setting.key)
        .chain(tables)
        .map(|known| (strsim::damerau_levenshtein(&plain, known), known))
        .min()
        .filter(|(distance, known)| *distance <= (known.len() / 3).max(1))
        .map(|(_, known)| known.to_owned())
}

/// Writes a TOML file with every setting, each with its summary as a comment.
pub(super) fn write<'a>(
    values: impl Iterator<Item = (&'static Setting, &'a ResolvedValue)>,
) -> String {
    let mut output = String::from("# Configuration of planimeter probe, every setting.\n");
    let mut tables = String::new();
    let mut table = "";
    for (setting, value) in values {
        let (own, name) = setting.key.split_once('.').unwrap_or(("", setting.key));
        if setting.kind == Kind::Tables {
            for element in &value.elements {
                tables.push_str(&switch_table(setting, element));
            }
            continue;
        }
        if own != table {
            table = own;
            output.push_str(&format!("\n[{table}]\n"));
        }
        output.push_str(&format!("# {}.\n{name} = {}\n", setting.summary, written(setting, value)));
    }
    output + &tables
}

fn written(setting: &Setting, value: &ResolvedValue) -> String {
    if setting.kind == Kind::List {
        let elements: Vec<_> = value.elements.iter().map(|text| literal(text)).collect();
        format!("[{}]", elements.join(", "))
    } else {
        literal(&value.text)
    }
}

/// Formats an override as a TOML table, with one field per line.
fn switch_table(setting: &Setting, element: &str) -> String {
    let mut lines = format!("\n[[{}]]\n", setting.key);
    for (name, value) in OverrideField::parts(element) {
        lines.push_str(&format!("{name} = {}\n", literal(value)));
    }
    lines
}

/// Formats a text as a TOML value. It is a number or a boolean if that is read back as the same
/// text, and otherwise a string.
fn literal(text: &str) -> String {
    let same = |shown: String| shown == text;
    let bare = matches!(text, "true" | "false")
        || text.parse::<i64>().is_ok_and(|number| same(number.to_string()))
        || (text.contains('.')
            && text
                .parse::<f64>()
                .is_ok_and(|number| number.is_finite() && same(number.to_string())));
    if bare { text.to_owned() } else { Value::from(text).to_string().trim().to_owned() }
}
