//! The flags of the verbs, for programs that pass settings by name, such as the Python package.
//!
//! They are read from the definition of the command, so that a new flag is known without a second
//! list.

use clap::{Arg, ArgAction};

/// The values that a flag takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagKind {
    /// The flag stands alone.
    Presence,
    /// The flag stands alone, or has the value `true` or `false`.
    Boolean,
    /// The flag has one value.
    Value,
    /// The flag may be given several times, each time with a value.
    List,
}

impl FlagKind {
    fn of(argument: &Arg) -> Self {
        let action = argument.get_action();
        let may_stand_alone =
            argument.get_num_args().is_some_and(|values| values.min_values() == 0);
        if matches!(action, ArgAction::Append) {
            Self::List
        } else if !matches!(action, ArgAction::Set) {
            Self::Presence
        } else if may_stand_alone {
            Self::Boolean
        } else {
            Self::Value
        }
    }

    /// Returns the name of the kind, in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Presence => "presence",
            Self::Boolean => "boolean",
            Self::Value => "value",
            Self::List => "list",
        }
    }
}

/// A flag of a verb (subcommand), with the values that it takes and its help text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// The name of the flag without the dashes in front, such as `idle-timeout`.
    pub name: String,
    /// Other names of the flag, such as the key of its setting in a TOML file.
    pub aliases: Vec<String>,
    /// The values that the flag takes.
    pub kind: FlagKind,
    /// The word that stands for the value in the help text, such as `DURATION`.
    pub value_name: Option<String>,
    /// The help text of the flag, in one line.
    pub about: String,
}

/// Returns the flags of the verb that `words` name, such as `["device", "measure"]`, in the order
/// of its help text. Returns `None` if there is no such verb.
#[must_use]
pub fn flags(words: &[&str]) -> Option<Vec<Flag>> {
    let root = crate::command();
    let mut verb = &root;
    for word in words {
        verb = verb.find_subcommand(word)?;
    }
    Some(verb.get_arguments().filter_map(flag).collect())
}

/// Returns the flag of an argument, or `None` if it is positional or has a short name alone.
fn flag(argument: &Arg) -> Option<Flag> {
    let aliases = argument.get_all_aliases().unwrap_or_default();
    let value_name = argument.get_value_names().and_then(|names| names.first());
    Some(Flag {
        name: argument.get_long()?.to_owned(),
        aliases: aliases.into_iter().map(str::to_owned).collect(),
        kind: FlagKind::of(argument),
        value_name: value_name.map(ToString::to_string),
        about: argument.get_help().map(ToString::to_string).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(verb: &[&str], name: &str) -> Option<FlagKind> {
        let flags = flags(verb).expect("a verb");
        flags.iter().find(|flag| flag.name == name).map(|flag| flag.kind)
    }

    #[test]
    fn flags_have_the_kinds_of_their_definitions() {
        assert_eq!(kind(&["probe"], "switches"), Some(FlagKind::Value));
        assert_eq!(kind(&["probe"], "quiet"), Some(FlagKind::Boolean));
        assert_eq!(kind(&["probe"], "calibrate"), Some(FlagKind::Presence));
        assert_eq!(kind(&["bench"], "entries"), Some(FlagKind::List));
        assert_eq!(kind(&["dut"], "quick"), Some(FlagKind::Presence));
        assert_eq!(kind(&["device", "measure"], "output"), Some(FlagKind::Value));
        assert_eq!(kind(&["bench"], "no-such-flag"), None);
        assert_eq!(flags(&["no-such-verb"]), None);
    }

    #[test]
    fn the_key_of_a_setting_is_an_alias_of_its_flag() {
        let flags = flags(&["probe"]).expect("a verb");
        let rate = flags.iter().find(|flag| flag.name == "rate").expect("a flag");
        assert_eq!(rate.aliases, ["traffic.rate"]);
        assert_eq!(rate.value_name.as_deref(), Some("RATE"));
        assert!(!rate.about.is_empty());
    }
}
