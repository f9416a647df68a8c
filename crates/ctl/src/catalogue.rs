//! All commands: their names, operands and descriptions, and the functions that run them. Help,
//! completion and the documentation are made from this table.

use crate::error::CommandError;
use crate::operands::Operands;
use crate::session::{Session, Sink};
use crate::{arrays, messages, profiles, queue, replication, tables, value_sets, whole};
use p4runtime::proto::v1::update::Type;

mod bmv2;

pub use bmv2::SIMPLE_SWITCH;

/// A function that runs a command.
pub(crate) type Run = fn(&mut Session<'_>, Operands, &mut Sink<'_>) -> Result<(), CommandError>;

/// The way in which a command is carried out, if it can be.
#[derive(Clone, Copy)]
pub(crate) enum Support {
    /// A function runs the command.
    Runs(Run),
    /// The command lists commands.
    Help,
    /// The command ends the session.
    Quit,
    /// The command has no counterpart in P4Runtime, for this reason.
    Impossible(&'static str),
}

/// A command that users type, with its texts in the help and the function that runs it.
#[derive(Clone, Copy)]
pub struct Command {
    /// The name of the command: a word, or two words such as `table add`.
    pub name: &'static str,
    /// The operands of the command, as the help shows them.
    pub operands: &'static str,
    /// A description of the command in a few words.
    pub about: &'static str,
    pub(crate) support: Support,
}

impl std::fmt::Debug for Command {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Command").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Command {
    const fn new(
        name: &'static str,
        operands: &'static str,
        about: &'static str,
        run: Run,
    ) -> Self {
        Self { name, operands, about, support: Support::Runs(run) }
    }

    /// Returns the synopsis of the command: its name and its operands.
    #[must_use]
    pub fn usage(&self) -> String {
        let Self { name, operands, .. } = self;
        if operands.is_empty() { (*name).to_owned() } else { format!("{name} {operands}") }
    }

    /// Returns the reason why the command has no counterpart in P4Runtime, or `None` if it has one.
    #[must_use]
    pub fn refusal(&self) -> Option<&'static str> {
        match self.support {
            Support::Impossible(reason) => Some(reason),
            Support::Runs(_) | Support::Help | Support::Quit => None,
        }
    }
}

const KEY: &str = "TABLE FIELD=VALUE ... [--priority N]";
const ENTRY: &str = "TABLE FIELD=VALUE ... ACTION PARAMETER=VALUE ... [--priority N] [--idle-timeout TIME] \
                     [--member N | --group N | one-shot ACTION ... [--weight N] [--watch PORT] , ...]";
const MEMBER: &str = "PROFILE NUMBER ACTION PARAMETER=VALUE ...";
const GROUP: &str = "SELECTOR NUMBER MEMBER[*WEIGHT][@PORT] ... [--max-size N]";
const COPIES: &str = "NUMBER PORT[:INSTANCE] ...";
const CLONES: &str = "NUMBER PORT[:INSTANCE] ... [--class N] [--truncate BYTES]";
const CELLS: &str = "NAME [INDEX | FIRST..LAST | FIELD=VALUE ... | default]";

/// The commands of Planimeter's own language, in the order in which the help shows them.
pub const OWN: &[Command] = &[
    Command::new("tables", "[TABLE]", "show keys and actions of tables", tables::list),
    Command::new("actions", "[TABLE]", "show parameters of actions", tables::actions),
    Command::new("table add", ENTRY, "insert an entry", |session, words, _| {
        tables::write(session, words, Type::Insert)
    }),
    Command::new("table modify", ENTRY, "replace the action of an entry", |session, words, _| {
        tables::write(session, words, Type::Modify)
    }),
    Command::new("table delete", KEY, "delete an entry", tables::delete),
    Command::new("table dump", "[TABLE [FIELD=VALUE ... | default]]", "show entries", tables::dump),
    Command::new("table count", "TABLE", "count entries", tables::count),
    Command::new(
        "table clear",
        "[TABLE]",
        "delete the entries of one table, or of all",
        tables::clear,
    ),
    Command::new(
        "table set-default",
        "TABLE ACTION PARAMETER=VALUE ...",
        "replace the default action",
        tables::set_default,
    ),
    Command::new(
        "table reset-default",
        "TABLE",
        "restore the default action of the program",
        tables::reset_default,
    ),
    Command::new("member add", MEMBER, "add a member to an action profile", |session, words, _| {
        profiles::write_member(session, words, Type::Insert)
    }),
    Command::new("member modify", MEMBER, "replace the action of a member", |session, words, _| {
        profiles::write_member(session, words, Type::Modify)
    }),
    Command::new("member delete", "PROFILE NUMBER", "remove a member", |session, words, _| {
        profiles::write_member(session, words, Type::Delete)
    }),
    Command::new("member dump", "[PROFILE [NUMBER]]", "show members", profiles::dump_members),
    Command::new("group add", GROUP, "add a group to an action selector", |session, words, _| {
        profiles::write_group(session, words, Type::Insert)
    }),
    Command::new("group modify", GROUP, "replace the members of a group", |session, words, _| {
        profiles::write_group(session, words, Type::Modify)
    }),
    Command::new("group delete", "SELECTOR NUMBER", "remove a group", |session, words, _| {
        profiles::write_group(session, words, Type::Delete)
    }),
    Command::new("group dump", "[SELECTOR [NUMBER]]", "show groups", profiles::dump_groups),
    Command::new("counter read", CELLS, "show counters", arrays::read_counter),
    Command::new(
        "counter write",
        "NAME [CELL] --packets N --bytes N",
        "set counters",
        arrays::write_counter,
    ),
    Command::new("counter reset", CELLS, "set counters to 0", arrays::reset_counter),
    Command::new("meter read", CELLS, "show rates of meters", arrays::read_meter),
    Command::new(
        "meter write",
        "NAME [CELL] RATE:BURST[,RATE:BURST[,EXCESS]]",
        "set rates per second: committed, peak",
        arrays::write_meter,
    ),
    Command::new(
        "meter reset",
        CELLS,
        "remove rates, so that all packets are green",
        arrays::reset_meter,
    ),
    Command::new(
        "register read",
        "NAME [INDEX | FIRST..LAST]",
        "show cells of a register",
        arrays::read_register,
    ),
    Command::new(
        "register write",
        "NAME INDEX|FIRST..LAST VALUE",
        "set cells of a register",
        arrays::write_register,
    ),
    Command::new(
        "register reset",
        "NAME [INDEX | FIRST..LAST]",
        "set cells to their first value",
        arrays::reset_register,
    ),
    Command::new("multicast add", COPIES, "add a multicast group", |session, words, _| {
        replication::write_group(session, words, Type::Insert)
    }),
    Command::new(
        "multicast modify",
        COPIES,
        "replace the copies of a group",
        |session, words, _| replication::write_group(session, words, Type::Modify),
    ),
    Command::new("multicast delete", "NUMBER", "remove a multicast group", |session, words, _| {
        replication::write_group(session, words, Type::Delete)
    }),
    Command::new("multicast dump", "[NUMBER]", "show multicast groups", replication::dump_groups),
    Command::new("clone add", CLONES, "add a clone (mirroring) session", |session, words, _| {
        replication::write_clone(session, words, Type::Insert)
    }),
    Command::new("clone modify", CLONES, "replace the copies of a session", |session, words, _| {
        replication::write_clone(session, words, Type::Modify)
    }),
    Command::new("clone delete", "NUMBER", "remove a clone session", |session, words, _| {
        replication::write_clone(session, words, Type::Delete)
    }),
    Command::new("clone dump", "[NUMBER]", "show clone sessions", replication::dump_clones),
    Command::new(
        "digest enable",
        "NAME [--max-timeout TIME] [--max-list N] [--ack-timeout TIME]",
        "make the device send a digest",
        messages::enable_digest,
    ),
    Command::new("digest disable", "NAME", "stop a digest", messages::disable_digest),
    Command::new("digest dump", "", "show the digests that are enabled", messages::dump_digests),
    Command::new(
        "value-set write",
        "NAME MEMBER ...",
        "replace the members of a parser value set",
        value_sets::write,
    ),
    Command::new("value-set add", "NAME MEMBER ...", "add members to a value set", value_sets::add),
    Command::new(
        "value-set remove",
        "NAME MEMBER ...",
        "remove members from a value set",
        value_sets::remove,
    ),
    Command::new("value-set clear", "NAME", "remove all members of a value set", value_sets::clear),
    Command::new("value-set dump", "[NAME]", "show value sets", value_sets::dump),
    Command::new(
        "packet out",
        "HEXADECIMAL FIELD=VALUE ...",
        "send a packet, with the fields of packet_out",
        messages::send,
    ),
    Command::new(
        "listen",
        "[packets] [digests] [idle] [--for TIME] [--count N]",
        "show packet-ins, digests and idle entries as they arrive",
        messages::listen,
    ),
    Command::new(
        "pipeline push",
        "PROGRAM | P4INFO CONFIGURATION [--verify | --save | --reconcile]",
        "give the device a pipeline",
        whole::push,
    ),
    Command::new(
        "pipeline commit",
        "",
        "make the pipeline of `pipeline push --save` effective",
        whole::commit,
    ),
    Command::new("pipeline show", "", "show the P4Info of the device", whole::show),
    Command::new("ports", "", "show the ports of the device, over gNMI", whole::ports),
    Command::new("queue dump", "[PORT ...]", "show the configuration of queues", queue::dump),
    Command::new(
        "queue show",
        "[PORT ...]",
        "show what waits in queues, and their counters",
        queue::show,
    ),
    Command::new(
        "queue set",
        "port=N [queue=N] KEY=VALUE ...",
        "change queues, as in docs/queues.md",
        queue::set,
    ),
    Command::new("queue clear", "PORT ...", "remove the queues of ports", queue::clear),
    Command::new(
        "inject",
        "PORT HEXADECIMAL [--send | --without-effects] [--trace] [--values] [--all-outcomes]",
        "run a packet through the program as if it had arrived",
        queue::inject,
    ),
    Command::new(
        "dump",
        "",
        "show all entries, members, groups, sessions, as commands",
        whole::dump,
    ),
    Command::new("clear", "", "delete all of them, and restore default actions", whole::clear),
    Command { name: "help", operands: "[COMMAND]", about: "show commands", support: Support::Help },
    Command { name: "quit", operands: "", about: "end the session", support: Support::Quit },
    Command { name: "exit", operands: "", about: "end the session", support: Support::Quit },
];

/// Returns all commands.
pub(crate) fn all() -> impl Iterator<Item = &'static Command> + Clone {
    OWN.iter().chain(SIMPLE_SWITCH)
}

/// Returns the command with which a line begins, and the number of words that its name has.
#[must_use]
pub(crate) fn find(words: &[String]) -> Option<(&'static Command, usize)> {
    let first = words.first()?;
    let both = words.get(1).map(|second| format!("{first} {second}"));
    let two = both.and_then(|both| all().find(|command| command.name == both));
    let two = two.map(|command| (command, 2));
    two.or_else(|| all().find(|command| command.name == first).map(|command| (command, 1)))
}
