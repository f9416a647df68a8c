//! Parses the text of a script to a [`Script`].

mod measured;
mod strings;

use std::time::Duration;

use queues::Configuration;

use self::strings::without_comment;
use super::number::Number;
use super::script::{
    Arrivals, Call, Cell, Comparison, Condition, Indirect, MatchText, Operand, Pattern,
    PortOperand, Rate, Script, Statement, StatementKind, Unit,
};

/// The error for a line of a script that is not a valid statement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct SyntaxError {
    /// The number of the line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// The description of the error.
    pub message: String,
}

impl Script {
    /// Parses a script.
    ///
    /// p4c's runner skips lines that do not begin with the keyword of a statement. They are parsed
    /// to [`StatementKind::Unknown`], and [`super::run`] reports them. Such a line is an error if
    /// its first word is a misspelt keyword, or if the script neither sends nor expects a packet.
    ///
    /// # Errors
    /// Returns an error for each statement that is incomplete or has surplus operands.
    pub fn parse(text: &str) -> Result<Self, Vec<SyntaxError>> {
        let mut statements = Vec::new();
        let mut errors = Vec::new();
        for Source { line, text, .. } in logical_lines(text) {
            let mut cursor = Cursor { line, text: &text, position: 0 };
            match statement(&mut cursor) {
                Ok(kind) => statements.push(Statement { line, kind }),
                Err(error) => errors.push(error),
            }
        }
        let is_script = statements.iter().any(|statement: &Statement| {
            matches!(
                statement.kind,
                StatementKind::Packet { .. }
                    | StatementKind::Expect { .. }
                    | StatementKind::Source { .. }
                    | StatementKind::Sender { .. }
            )
        });
        errors.extend(statements.iter().filter_map(|Statement { line, kind }| {
            let StatementKind::Unknown { word } = kind else { return None };
            let message = match meant(word) {
                Some(meant) => format!("`{word}` is not a statement; `{meant}` is"),
                None if is_script => return None,
                None => super::StfError::NoStatement(word.clone()).to_string(),
            };
            Some(SyntaxError { line: *line, column: 1, message })
        }));
        errors.sort_by_key(|error| error.line);
        if errors.is_empty() { Ok(Self { statements }) } else { Err(errors) }
    }
}

const KEYWORDS: [&str; 38] = [
    "at",
    "source",
    "sender",
    "on",
    "check_delay",
    "check_packets",
    "add",
    "remove",
    "setdefault",
    "packet",
    "expect",
    "no_packet",
    "check_counter",
    "wait",
    "expire_time",
    "mirroring_add",
    "mirroring_add_mc",
    "mirroring_delete",
    "mirroring_get",
    "mc_mgrp_create",
    "mc_node_create",
    "mc_node_update",
    "mc_node_associate",
    "mc_set_lag_membership",
    "counter_read",
    "counter_write",
    "register_read",
    "register_write",
    "register_reset",
    "meter_get_rates",
    "meter_set_rates",
    "meter_array_set_rates",
    "table_indirect_add",
    "table_indirect_add_with_group",
    "act_prof_create_member",
    "act_prof_create_group",
    "act_prof_add_member_to_group",
    "act_prof_remove_member_from_group",
];

/// Returns the keyword that a misspelt word probably means: the one from which it differs by one
/// missing, additional or wrong letter, or by two adjacent letters in the wrong order.
fn meant(word: &str) -> Option<&'static str> {
    let word: Vec<char> = word.to_lowercase().chars().collect();
    // Short words are similar to too many others.
    let near = |keyword: &&str| {
        let keyword: Vec<char> = keyword.chars().collect();
        let same = word.iter().zip(&keyword).take_while(|(a, b)| a == b).count();
        let (a, b) =
            (word.get(same..).unwrap_or_default(), keyword.get(same..).unwrap_or_default());
        let behind = |rest: &[char], skip: usize| rest.get(skip..).unwrap_or_default().to_vec();
        keyword.len() >= 5
            && (behind(a, 1) == b
                || behind(b, 1) == a
                || behind(a, 1) == behind(b, 1)
                || a.len() >= 2
                    && a.first() == b.get(1)
                    && a.get(1) == b.first()
                    && behind(a, 2) == behind(b, 2))
    };
    KEYWORDS.into_iter().find(near)
}

/// The largest number of lines of one statement. A statement is parsed anew with each line that may
/// continue it, so without a limit the time would grow with the square of the number of lines.
const MAX_LINES: usize = 256;

/// The text of one statement without comments. It may span several lines.
struct Source {
    /// The number of the first line, counted from 1.
    line: usize,
    /// The number of lines that are not empty.
    lines: usize,
    text: String,
}

fn logical_lines(text: &str) -> Vec<Source> {
    let mut lines: Vec<Source> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = without_comment(line);
        let first = line.split_whitespace().next().unwrap_or_default().to_lowercase();
        if first.is_empty() {
            continue;
        }
        match lines.last_mut() {
            // A `packet`, `expect`, `source` or `sender` ends at the end of its line. Every other
            // statement may continue on further lines until it is complete.
            Some(before)
                if before.lines < MAX_LINES
                    && !KEYWORDS.contains(&first.as_str())
                    && !takes_data(&before.text)
                    && statement(&mut Cursor { line: 0, text: &before.text, position: 0 })
                        .is_err() =>
            {
                before.lines += 1;
                before.text.push(' ');
                before.text.push_str(line.trim());
            }
            _ => lines.push(Source { line: number + 1, lines: 1, text: line.to_owned() }),
        }
    }
    lines
}

fn takes_data(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default().to_lowercase();
    ["packet", "expect", "source", "sender"].contains(&first.as_str())
}

/// A read position in the text of a statement.
struct Cursor<'t> {
    line: usize,
    text: &'t str,
    position: usize,
}

impl<'t> Cursor<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.position..).unwrap_or_default()
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.position += rest.len() - rest.trim_start().len();
    }

    fn at_end(&mut self) -> bool {
        self.skip_blanks();
        self.rest().is_empty()
    }

    fn error(&self, message: impl Into<String>) -> SyntaxError {
        let before = self.text.get(..self.position).unwrap_or_default();
        SyntaxError { line: self.line, column: before.chars().count() + 1, message: message.into() }
    }

    fn expected(&mut self, what: &str) -> SyntaxError {
        self.skip_blanks();
        let found = match self.rest().split_whitespace().next() {
            Some(word) => format!("`{word}`"),
            None => "the end of the line".to_owned(),
        };
        self.error(format!("expected {what}, found {found}"))
    }

    /// Skips `symbol` if it comes next in the text, and returns whether it did.
    fn take(&mut self, symbol: &str) -> bool {
        self.skip_blanks();
        let found = self.rest().starts_with(symbol);
        if found {
            self.position += symbol.len();
        }
        found
    }

    fn require(&mut self, symbol: &str) -> Result<(), SyntaxError> {
        if self.take(symbol) { Ok(()) } else { Err(self.expected(&format!("`{symbol}`"))) }
    }

    /// Skips and returns the longest run of accepted characters at the cursor. Returns `None` if
    /// there is none.
    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> Option<&'t str> {
        self.skip_blanks();
        let rest = self.rest();
        let end = rest.find(|character| !accept(character)).unwrap_or(rest.len());
        let word = rest.get(..end)?;
        self.position += end;
        (!word.is_empty()).then_some(word)
    }

    /// Parses a name such as `hdr.ipv4.$valid$` or `hdr.stack[2].field`.
    fn name(&mut self, what: &str) -> Result<String, SyntaxError> {
        let name = |c: char| c.is_alphanumeric() || "_$.[]".contains(c);
        let start = self.position;
        match self.take_while(name) {
            Some(word) if !word.starts_with(|c: char| c.is_ascii_digit()) => Ok(word.to_owned()),
            _ => {
                self.position = start;
                Err(self.expected(what))
            }
        }
    }

    fn number(&mut self) -> Result<Number, SyntaxError> {
        let start = self.position;
        let is_digit = |c: char| c.is_ascii_alphanumeric() || c == '*' || c == '_';
        self.skip_blanks();
        let rest = self.rest();
        // An address has single dots and colons, whereas `1..5` is a range.
        let end = rest
            .char_indices()
            .find(|(at, c)| {
                let mut after = rest.get(at + c.len_utf8()..).unwrap_or_default().chars();
                let inside = match c {
                    '.' => after.next().is_some_and(is_digit) && *at > 0,
                    ':' => after.next().is_some_and(|next| is_digit(next) || next == ':'),
                    _ => is_digit(*c),
                };
                // The second of two colons belongs to an IPv6 address.
                let goes_on = *c == ':' && rest.get(..*at).is_some_and(|r| r.ends_with(':'));
                !inside && !goes_on
            })
            .map_or(rest.len(), |(at, _)| at);
        let number = rest.get(..end).and_then(Number::parse);
        if number.is_some() {
            self.position += end;
        }
        number.ok_or_else(|| {
            self.position = start;
            self.expected("a number")
        })
    }

    fn small<T: TryFrom<u64>>(&mut self, what: &str) -> Result<T, SyntaxError> {
        let start = self.position;
        self.number().ok().and_then(|n| n.to_u64()).and_then(|n| T::try_from(n).ok()).ok_or_else(
            || {
                self.position = start;
                self.expected(what)
            },
        )
    }

    fn next_is_digit(&mut self) -> bool {
        self.skip_blanks();
        self.rest().starts_with(|character: char| character.is_ascii_digit())
    }

    fn end(&mut self) -> Result<(), SyntaxError> {
        if self.at_end() { Ok(()) } else { Err(self.expected("the end of the line")) }
    }
}

fn statement(cursor: &mut Cursor<'_>) -> Result<StatementKind, SyntaxError> {
    let start = cursor.position;
    let word = match cursor.name("a statement") {
        Ok(word) => word.to_lowercase(),
        Err(_) => return Ok(unknown(cursor)),
    };
    let kind = match word.as_str() {
        "packet" => {
            let port = cursor.port()?;
            match packet_data(cursor)? {
                Some(data) => StatementKind::Packet { port, data },
                None => StatementKind::HalfByte,
            }
        }
        "expect" => {
            let port = cursor.port()?;
            StatementKind::Expect { port, pattern: pattern(cursor)? }
        }
        "at" => at(cursor)?,
        "source" => measured::source(cursor)?,
        "sender" => measured::sender(cursor)?,
        "on" => measured::on(cursor)?,
        "check_delay" => measured::check_delay(cursor)?,
        "check_packets" => measured::check_packets(cursor)?,
        "no_packet" => StatementKind::NoPacket,
        "wait" => StatementKind::Wait,
        "expire_time" => StatementKind::ExpireTime {
            profile: cursor.small("the number of an expire time profile")?,
            time: time(cursor)?,
        },
        "add" => add(cursor)?,
        "table_indirect_add" => add_indirect(cursor, "the number of a member", Indirect::Member)?,
        "table_indirect_add_with_group" => {
            add_indirect(cursor, "the number of a group", Indirect::Group)?
        }
        "act_prof_create_member" => StatementKind::MemberCreate {
            profile: cursor.name("the name of an action profile")?,
            member: cursor.small("the number of a member")?,
            action: call(cursor)?,
        },
        "act_prof_create_group" => StatementKind::SelectorGroupCreate {
            profile: cursor.name("the name of an action selector")?,
            group: cursor.small("the number of a group")?,
        },
        "act_prof_add_member_to_group" => StatementKind::GroupAdd {
            profile: cursor.name("the name of an action selector")?,
            member: cursor.small("the number of a member")?,
            group: cursor.small("the number of a group")?,
        },
        "act_prof_remove_member_from_group" => StatementKind::GroupRemove {
            profile: cursor.name("the name of an action selector")?,
            member: cursor.small("the number of a member")?,
            group: cursor.small("the number of a group")?,
        },
        "setdefault" => {
            let table = cursor.name("the name of a table")?;
            StatementKind::SetDefault { table, action: call(cursor)? }
        }
        "remove" => {
            let handle = cursor.name("`all` or the handle of an entry")?;
            if handle.eq_ignore_ascii_case("all") {
                StatementKind::RemoveAll
            } else {
                StatementKind::Remove { handle: handle.trim_start_matches('$').to_owned() }
            }
        }
        "check_counter" => check_counter(cursor)?,
        "mirroring_add" => StatementKind::MirroringAdd {
            session: cursor.small("a clone session")?,
            port: cursor.port()?,
        },
        "mirroring_add_mc" => StatementKind::MirroringAddGroup {
            session: cursor.small("a clone session")?,
            group: cursor.small("a multicast group")?,
        },
        "mirroring_delete" => {
            StatementKind::MirroringDelete { session: cursor.small("a clone session")? }
        }
        "mirroring_get" => {
            StatementKind::MirroringGet { session: cursor.small("a clone session")? }
        }
        "mc_mgrp_create" => {
            StatementKind::GroupCreate { group: cursor.small("a multicast group")? }
        }
        "mc_node_create" => {
            let replication_id = cursor.small("a replication id")?;
            let (ports, lags) = ports_and_lags(cursor)?;
            StatementKind::NodeCreate { replication_id, ports, lags }
        }
        "mc_node_update" => {
            let node = cursor.small("the number of a node")?;
            let (ports, lags) = ports_and_lags(cursor)?;
            StatementKind::NodeUpdate { node, ports, lags }
        }
        "mc_set_lag_membership" => StatementKind::LagMembers {
            lag: cursor.small("the number of a link aggregation group")?,
            ports: several(cursor, Cursor::port)?,
        },
        "mc_node_associate" => StatementKind::NodeAssociate {
            group: cursor.small("a multicast group")?,
            node: cursor.small("the number of a node")?,
        },
        "counter_read" => StatementKind::CounterRead {
            counter: cursor.name("the name of a counter")?,
            index: cursor.small("an index")?,
        },
        "counter_write" => StatementKind::CounterWrite {
            counter: cursor.name("the name of a counter")?,
            index: cursor.small("an index")?,
            packets: cursor.small("a number of packets")?,
            bytes: cursor.small("a number of bytes")?,
        },
        "register_read" => StatementKind::RegisterRead {
            register: cursor.name("the name of a register")?,
            index: cursor.small("an index")?,
        },
        "register_write" => StatementKind::RegisterWrite {
            register: cursor.name("the name of a register")?,
            index: cursor.small("an index")?,
            value: cursor.number()?,
        },
        "register_reset" => {
            StatementKind::RegisterReset { register: cursor.name("the name of a register")? }
        }
        "meter_get_rates" => StatementKind::MeterGetRates {
            meter: cursor.name("the name of a meter")?,
            index: cursor.small("an index")?,
        },
        "meter_set_rates" => StatementKind::MeterSetRates {
            meter: cursor.name("the name of a meter")?,
            index: Some(cursor.small("an index")?),
            rates: rates(cursor)?,
        },
        "meter_array_set_rates" => StatementKind::MeterSetRates {
            meter: cursor.name("the name of a meter")?,
            index: None,
            rates: rates(cursor)?,
        },
        _ => {
            cursor.position = start;
            return Ok(unknown(cursor));
        }
    };
    cursor.end()?;
    Ok(kind)
}

fn unknown(cursor: &Cursor<'_>) -> StatementKind {
    let word = cursor.rest().split_whitespace().next().unwrap_or_default();
    StatementKind::Unknown { word: word.to_owned() }
}

/// Parses the bytes of a packet in hexadecimal. Returns `None` if the number of digits is odd.
fn packet_data(cursor: &mut Cursor<'_>) -> Result<Option<Vec<u8>>, SyntaxError> {
    let mut digits = Vec::new();
    while !cursor.at_end() {
        match cursor.rest().chars().next().and_then(|character| character.to_digit(16)) {
            Some(digit) => digits.push(digit as u8),
            None => return Err(cursor.expected("hexadecimal digits")),
        }
        cursor.position += 1;
    }
    if digits.len() % 2 == 1 {
        return Ok(None);
    }
    Ok(Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()))
}

fn pattern(cursor: &mut Cursor<'_>) -> Result<Option<Pattern>, SyntaxError> {
    let mut pattern = Pattern { digits: Vec::new(), exact_length: false };
    if cursor.at_end() {
        return Ok(None);
    }
    while !cursor.at_end() {
        let character = cursor.rest().chars().next().unwrap_or(' ');
        match (character, character.to_digit(16)) {
            (_, Some(digit)) => pattern.digits.push(Some(digit as u8)),
            ('*', None) => pattern.digits.push(None),
            ('$', None) => {
                cursor.position += 1;
                pattern.exact_length = true;
                cursor.end()?;
                break;
            }
            _ => return Err(cursor.expected("hexadecimal digits, `*` or `$`")),
        }
        cursor.position += 1;
    }
    Ok(Some(pattern))
}

/// Parses the name of a table, and a priority if there is one.
fn table_and_priority(cursor: &mut Cursor<'_>) -> Result<(String, Option<u32>), SyntaxError> {
    let table = cursor.name("the name of a table")?;
    let priority = if cursor.next_is_digit() { Some(cursor.small("a priority")?) } else { None };
    Ok((table, priority))
}

fn add_indirect(
    cursor: &mut Cursor<'_>,
    what: &str,
    target: fn(u32) -> Indirect,
) -> Result<StatementKind, SyntaxError> {
    let table = cursor.name("the name of a table")?;
    let mut numbers: Vec<u32> = Vec::new();
    let mut matches = Vec::new();
    // A number before the keys is the priority. The number after them is that of the member or
    // group.
    while !cursor.at_end() {
        if cursor.next_is_digit() {
            numbers.push(cursor.small(what)?);
            continue;
        }
        let name = cursor.name("a key")?;
        cursor.require(":")?;
        matches.push((name, match_text(cursor)?));
    }
    let (priority, number) = match numbers.as_slice() {
        [number] => (None, *number),
        [priority, number] => (Some(*priority), *number),
        _ => return Err(cursor.expected(what)),
    };
    Ok(StatementKind::AddIndirect { table, priority, matches, target: target(number) })
}

fn add(cursor: &mut Cursor<'_>) -> Result<StatementKind, SyntaxError> {
    let (table, priority) = table_and_priority(cursor)?;
    let mut matches = Vec::new();
    let action = loop {
        let name = cursor.name("a key or an action")?;
        if cursor.take(":") {
            matches.push((name, match_text(cursor)?));
        } else {
            break Call { action: name, arguments: arguments(cursor)? };
        }
    };
    let handle = if cursor.take("=") {
        Some(cursor.name("a handle")?.trim_start_matches('$').to_owned())
    } else {
        None
    };
    Ok(StatementKind::Add { table, priority, matches, action, handle })
}

fn match_text(cursor: &mut Cursor<'_>) -> Result<MatchText, SyntaxError> {
    let rest = cursor.rest().trim_start();
    if rest.starts_with('*') {
        cursor.take("*");
        return Ok(MatchText::Any);
    }
    let value = match cursor.operand()? {
        Operand::Text(text) => return Ok(MatchText::Text(text)),
        Operand::Number(value) => value,
    };
    Ok(if cursor.take("/") {
        MatchText::Prefix(value, cursor.small("the length of a prefix")?)
    } else if cursor.take("&&&") {
        MatchText::Mask(value, cursor.number()?)
    } else if cursor.take("->") || cursor.take("..") {
        MatchText::Range(value, cursor.number()?)
    } else {
        MatchText::Value(value)
    })
}

fn call(cursor: &mut Cursor<'_>) -> Result<Call, SyntaxError> {
    let action = cursor.name("an action")?;
    Ok(Call { action, arguments: arguments(cursor)? })
}

fn arguments(cursor: &mut Cursor<'_>) -> Result<Vec<(String, Operand)>, SyntaxError> {
    cursor.require("(")?;
    let mut arguments = Vec::new();
    if cursor.take(")") {
        return Ok(arguments);
    }
    loop {
        let name = cursor.name("a parameter")?;
        cursor.require(":")?;
        arguments.push((name, cursor.operand()?));
        if cursor.take(")") {
            return Ok(arguments);
        }
        cursor.require(",")?;
    }
}

const COMPARISONS: [(&str, Comparison); 6] = [
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

fn check_counter(cursor: &mut Cursor<'_>) -> Result<StatementKind, SyntaxError> {
    let counter = cursor.name("the name of a counter")?;
    cursor.require("(")?;
    let cell = if cursor.next_is_digit() {
        Cell::Index(cursor.small("an index")?)
    } else {
        let handle = cursor.name("an index or a handle")?;
        Cell::Handle(handle.trim_start_matches('$').to_owned())
    };
    cursor.require(")")?;
    if cursor.at_end() {
        return Ok(StatementKind::CheckCounter { counter, cell, condition: None });
    }
    let unit = match cursor.name("`packets` or `bytes`")?.to_lowercase().as_str() {
        "packets" => Unit::Packets,
        "bytes" => Unit::Bytes,
        _ => return Err(cursor.error("expected `packets` or `bytes`")),
    };
    let found = COMPARISONS.into_iter().find(|(symbol, _)| cursor.take(symbol));
    let Some((_, operator)) = found else { return Err(cursor.expected("a comparison")) };
    let value = cursor.small("a number")?;
    let condition = Some(Condition { unit, operator, value });
    Ok(StatementKind::CheckCounter { counter, cell, condition })
}

/// Parses the operands of `at`: `TIME [every TIME times NUMBER]`, or `TIME queue SWITCH LINE[; LINE
/// ...]`.
fn at(cursor: &mut Cursor<'_>) -> Result<StatementKind, SyntaxError> {
    let first = time(cursor)?;
    if cursor.take("queue") {
        return queues(cursor, first);
    }
    if !cursor.take("every") {
        return Ok(StatementKind::At(Arrivals { first, every: Duration::ZERO, times: 1 }));
    }
    let every = time(cursor)?;
    cursor.require("times")?;
    let times = cursor.small("a number of packets")?;
    Ok(StatementKind::At(Arrivals { first, every, times }))
}

/// Parses the name of a switch and the lines that configure its queues, which are separated by
/// semicolons.
fn queues(cursor: &mut Cursor<'_>, at: Duration) -> Result<StatementKind, SyntaxError> {
    let switch = cursor.take_while(|c| !c.is_whitespace() && c != '=');
    let Some(switch) = switch.map(str::to_owned) else {
        return Err(cursor.expected("the name of a switch"));
    };
    cursor.skip_blanks();
    let lines: Vec<&str> = cursor.rest().split(';').map(str::trim).collect();
    let queues = Configuration::parse(&lines).map_err(|error| cursor.error(error.to_string()))?;
    cursor.position = cursor.text.len();
    Ok(StatementKind::Queues { at, switch, queues })
}

fn time(cursor: &mut Cursor<'_>) -> Result<Duration, SyntaxError> {
    let start = cursor.position;
    let word = cursor.take_while(|c| c.is_ascii_alphanumeric() || c == '.').unwrap_or_default();
    queues::time(word).map(|time| Duration::from_nanos(time.0)).map_err(|error| {
        cursor.position = start;
        cursor.error(error.to_string())
    })
}

/// Parses a list of operands with `one`, up to `|` or the end of the statement.
fn several<'t, T>(
    cursor: &mut Cursor<'t>,
    mut one: impl FnMut(&mut Cursor<'t>) -> Result<T, SyntaxError>,
) -> Result<Vec<T>, SyntaxError> {
    let mut operands = Vec::new();
    while !cursor.at_end() && !cursor.rest().starts_with('|') {
        operands.push(one(cursor)?);
    }
    Ok(operands)
}

/// Parses ports, and the link aggregation groups that may follow: `PORT ... [| LAG ...]`.
fn ports_and_lags(cursor: &mut Cursor<'_>) -> Result<(Vec<PortOperand>, Vec<u32>), SyntaxError> {
    let ports = several(cursor, Cursor::port)?;
    let lags = match cursor.take("|") {
        true => several(cursor, |cursor| cursor.small("the number of a link aggregation group"))?,
        false => Vec::new(),
    };
    Ok((ports, lags))
}

fn rates(cursor: &mut Cursor<'_>) -> Result<Vec<Rate>, SyntaxError> {
    let mut rates = Vec::new();
    while !cursor.at_end() {
        let decimal = cursor.take_while(|c| c.is_ascii_digit() || c == '.');
        let rate = decimal.filter(|text| text.parse::<f64>().is_ok());
        let Some(rate) = rate else { return Err(cursor.expected("a rate")) };
        cursor.require(":")?;
        let burst = cursor.small("a burst")?;
        rates.push(Rate { units_per_microsecond: rate.to_owned(), burst });
    }
    if rates.is_empty() { Err(cursor.expected("rate:burst")) } else { Ok(rates) }
}
