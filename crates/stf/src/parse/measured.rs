//! Parses the statements for networks: sources, senders, checks of delays and of numbers of
//! packets, and statements that are addressed to one switch.

use super::{COMPARISONS, Cursor, SyntaxError, packet_data, pattern, statement, time};
use crate::checks::{Check, Requirement, Share, Statistic};
use crate::script::{Comparison, StatementKind};
use std::time::Duration;

/// The length in bytes of the longest packet that a source may send: the longest IPv4 packet with
/// an Ethernet header and four VLAN tags.
const MAX_LENGTH: usize = 65_535 + 14 + 16;

/// Parses the operands of `source`: `PORT [length BYTES] HEX`.
pub(super) fn source(cursor: &mut Cursor<'_>) -> Result<StatementKind, SyntaxError> {
    let port = cursor.port()?;
    let data = filled(cursor)?;
    Ok(data.map_or(StatementKind::HalfByte, |data| StatementKind::Source { port, data }))
}

/// Parses the operands of `sender`: `FROM TO until TIME [back TIME] [length BYTES] HEX`.
pub(super) fn sender(cursor: &mut Cursor<'_>) -> Result<StatementKind, SyntaxError> {
    /// The time until an acknowledgement arrives, if the script does not state it.
    const BACK: Duration = Duration::from_millis(10);
    let (from, to) = (cursor.port()?, cursor.port()?);
    cursor.require("until")?;
    let until = time(cursor)?;
    let back = if cursor.take("back") { time(cursor)? } else { BACK };
    if back.is_zero() {
        return Err(cursor.error(
            "an acknowledgement takes some time, or nothing would ever limit the sender: write 1us or more",
        ));
    }
    let data = filled(cursor)?;
    let sender = |data| StatementKind::Sender { from, to, data, back, until };
    Ok(data.map_or(StatementKind::HalfByte, sender))
}

/// Parses `[length BYTES] HEX`: the bytes of a packet, which is padded with zeros to the length.
/// Returns `None` if the number of hexadecimal digits is odd.
fn filled(cursor: &mut Cursor<'_>) -> Result<Option<Vec<u8>>, SyntaxError> {
    let length = match cursor.take("length") {
        true => Some(cursor.small::<usize>("a number of bytes")?),
        false => None,
    };
    let Some(mut data) = packet_data(cursor)? else { return Ok(None) };
    if let Some(length) = length {
        if length < data.len() || length > MAX_LENGTH {
            let least = data.len();
            return Err(cursor.error(format!(
                "the length is {length}; it must be from {least}, the number of bytes that are \
                 written, to {MAX_LENGTH}"
            )));
        }
        data.resize(length, 0);
    }
    Ok(Some(data))
}

/// Parses the operands of `on`: `SWITCH STATEMENT`.
pub(super) fn on(cursor: &mut Cursor<'_>) -> Result<StatementKind, SyntaxError> {
    let switch = cursor.take_while(|c| !c.is_whitespace());
    let Some(switch) = switch else { return Err(cursor.expected("the name of a switch")) };
    if cursor.at_end() {
        return Err(cursor.expected("a statement"));
    }
    let statement = Box::new(statement(cursor)?);
    Ok(StatementKind::On { switch: switch.to_owned(), statement })
}

/// Parses the operands of `check_delay`:
/// `FROM TO (min | mean | max | SHARE%) COMPARISON TIME [since TIME]`.
pub(super) fn check_delay(cursor: &mut Cursor<'_>) -> Result<StatementKind, SyntaxError> {
    let (from, to) = (cursor.small("a port number")?, cursor.small("a port number")?);
    let statistic = statistic(cursor)?;
    let operator = comparison(cursor)?;
    let bound = time(cursor)?;
    let condition = Requirement::Delay { statistic, operator, bound };
    Ok(StatementKind::Check(Check { from, to, since: since(cursor)?, condition }))
}

/// Parses the operands of `check_packets`:
/// `FROM TO COMPARISON NUMBER [since TIME] [with PATTERN]`.
pub(super) fn check_packets(cursor: &mut Cursor<'_>) -> Result<StatementKind, SyntaxError> {
    let (from, to) = (cursor.small("a port number")?, cursor.small("a port number")?);
    let operator = comparison(cursor)?;
    let number = cursor.small("a number of packets")?;
    let since = since(cursor)?;
    let pattern = match cursor.take("with") {
        true => pattern(cursor)?,
        false => None,
    };
    let condition = Requirement::Packets { operator, number, pattern };
    Ok(StatementKind::Check(Check { from, to, since, condition }))
}

fn statistic(cursor: &mut Cursor<'_>) -> Result<Statistic, SyntaxError> {
    const WHAT: &str = "`min`, `mean`, `max` or a share such as `99%`";
    for (word, statistic) in
        [("min", Statistic::Smallest), ("mean", Statistic::Mean), ("max", Statistic::Largest)]
    {
        if cursor.take(word) {
            return Ok(statistic);
        }
    }
    let start = cursor.position;
    let share = cursor.take_while(|c| c.is_ascii_digit() || c == '.').and_then(Share::parse);
    match (share, cursor.take("%")) {
        (Some(share), true) => Ok(Statistic::Share(share)),
        _ => {
            cursor.position = start;
            Err(cursor.expected(WHAT))
        }
    }
}

fn comparison(cursor: &mut Cursor<'_>) -> Result<Comparison, SyntaxError> {
    let found = COMPARISONS.into_iter().find(|(symbol, _)| cursor.take(symbol));
    found.map(|(_, operator)| operator).ok_or_else(|| cursor.expected("a comparison"))
}

fn since(cursor: &mut Cursor<'_>) -> Result<Duration, SyntaxError> {
    if cursor.take("since") { time(cursor) } else { Ok(Duration::ZERO) }
}
