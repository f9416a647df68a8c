//! The commands of simple_switch_CLI about queues, parser value sets and the switch as a whole: its
//! clock, its state and its configuration.

use crate::device::PushAction;
use crate::error::CommandError;
use crate::names::{Named as _, find};
use crate::operands::Operands;
use crate::session::{Item, Session, Sink};
use crate::view::{View, view};
use serde_json::json;

/// Runs a command with the operands `AMOUNT [PORT [QUEUE]]`, which changes one setting of queues.
/// Without a queue, the command applies to all queues of the port. Without a port, it applies to
/// all ports that have queues.
fn set_queues(
    session: &mut Session<'_>,
    mut words: Operands,
    what: &str,
    setting: &dyn Fn(u64) -> String,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let amount: u64 = words.number(what)?;
    let port: Option<u32> = words.peek().is_some().then(|| words.number("a port")).transpose()?;
    let queue: Option<u8> = words.peek().is_some().then(|| words.number("a queue")).transpose()?;
    words.end()?;
    let ports = match port {
        Some(port) => vec![port],
        None => {
            let ports = session.device.queues(&[])?.ports;
            ports.iter().map(|port| port.port).collect()
        }
    };
    if ports.is_empty() {
        return Err(CommandError::Missing(
            "no port has queues; name the port, which then gets one".to_owned(),
        ));
    }
    let present = session.device.queues(&ports)?.ports;
    let queues = |port: u32| {
        let found = present.iter().find(|found| found.port == port);
        let count = found.map_or(1, |found| u8::try_from(found.queues.len()).unwrap_or(u8::MAX));
        match queue {
            Some(queue) => queue..queue.saturating_add(1),
            None => 0..count.max(1),
        }
    };
    let setting = setting(amount);
    let lines = |lines: &mut Vec<String>| {
        for port in &ports {
            lines.extend(queues(*port).map(|queue| format!("port={port} queue={queue} {setting}")));
        }
    };
    crate::queue::change(session, &ports, &lines, sink)
}

/// Runs the command `set_queue_depth`, which sets the capacity of queues, in packets.
pub(crate) fn set_queue_depth(
    session: &mut Session<'_>,
    words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let setting = |packets| format!("depth={packets}");
    set_queues(session, words, "a number of packets", &setting, sink)
}

/// Runs the command `set_queue_rate`, which sets the rate of queues, in packets per second.
pub(crate) fn set_queue_rate(
    session: &mut Session<'_>,
    words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let setting = |rate| format!("rate={rate}pps");
    set_queues(session, words, "a rate in packets per second", &setting, sink)
}

/// Runs the command `load_new_config_file`, which stores a pipeline on the device. The command
/// `swap_configs` puts it into effect.
pub(crate) fn load_config(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let file = words.next("the path of a BMv2 JSON file")?;
    words.end()?;
    crate::whole::put(session, &[file], PushAction::Save, sink)
}

/// Runs the command `reset_state`, which deletes what controllers wrote, and sets arrays to their
/// initial values.
pub(crate) fn reset_state(
    session: &mut Session<'_>,
    words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    crate::whole::clear(session, words.fresh([]), sink)?;
    words.end()?;
    for register in schema.registers().iter() {
        crate::arrays::reset_register(session, words.fresh([register.name.clone()]), sink)?;
    }
    for counter in schema.counters().iter() {
        crate::arrays::reset_counter(session, words.fresh([counter.name.clone()]), sink)?;
    }
    for meter in schema.meters().iter() {
        crate::arrays::reset_meter(session, words.fresh([meter.name.clone()]), sink)?;
    }
    Ok(())
}

/// Runs the command `get_time_elapsed`, which shows the microseconds since the start of the switch.
pub(crate) fn time_elapsed(
    session: &mut Session<'_>,
    words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    words.end()?;
    let elapsed = session.device.about()?.elapsed_ns / 1000;
    let json = json!({ "kind": "time", "elapsed_us": elapsed });
    sink(View::new(elapsed.to_string(), json).into());
    Ok(())
}

/// Runs the command `get_time_since_epoch`, which shows the microseconds since the start of 1970 by
/// the clock of the switch.
pub(crate) fn time_since_epoch(
    session: &mut Session<'_>,
    words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    words.end()?;
    let time = session.device.about()?.timestamp_ns / 1000;
    sink(View::new(time.to_string(), json!({ "kind": "time", "since_epoch_us": time })).into());
    Ok(())
}

/// Runs the command `switch_info`, which shows facts about the switch.
pub(crate) fn info(
    session: &mut Session<'_>,
    words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    words.end()?;
    let about = session.device.about()?;
    let id = session.device.id();
    let text = format!(
        "{}, device {id}, up for {}.{:03} s, port {} for controllers, {} workers",
        about.version,
        about.elapsed_ns / 1_000_000_000,
        about.elapsed_ns / 1_000_000 % 1000,
        about.cpu_port,
        about.workers,
    );
    let json = json!({
        "kind": "switch", "version": about.version, "device": id, "elapsed_ns": about.elapsed_ns,
        "cpu_port": about.cpu_port, "workers": about.workers,
    });
    sink(View::new(text, json).into());
    Ok(())
}

/// Runs the command `serialize_state`, which writes a file of commands that restore the state of
/// the switch.
pub(crate) fn serialize_state(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let file = words.next("the path of a file")?;
    words.end()?;
    if session.is_dry {
        return crate::whole::dump(session, words, sink);
    }
    let schema = session.schema()?;
    let (mut text, mut lines) = (String::new(), 0_usize);
    let mut write = |item: Item| {
        text.push_str(&view(Some(&schema), &item).text);
        text.push('\n');
        lines += 1;
    };
    crate::whole::dump(session, words, &mut write)?;
    session.device.store(&file, text.as_bytes())?;
    let text = format!("{file} has {lines} lines of commands, which `--file {file}` runs");
    sink(View::new(text, json!({ "kind": "stored", "file": file, "lines": lines })).into());
    Ok(())
}

/// Runs the command `write_config_to_file`, which writes the configuration of the running pipeline
/// to a file.
pub(crate) fn write_config(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let file = words.next("the path of a file")?;
    words.end()?;
    if session.is_dry {
        let text = "GetForwardingPipelineConfig ALL";
        let json = json!({ "request": "p4.v1.GetForwardingPipelineConfigRequest", "text": text });
        sink(View::new(text, json).into());
        return Ok(());
    }
    let content = session.device.configuration()?;
    session.device.store(&file, &content)?;
    let bytes = content.len();
    let text = format!("{file} has the configuration of the pipeline, {bytes} bytes");
    sink(View::new(text, json!({ "kind": "stored", "file": file, "bytes": bytes })).into());
    Ok(())
}

/// Runs the command `show_pvs`, which shows the parser value sets and the fields of their members.
pub(crate) fn show_value_sets(
    session: &mut Session<'_>,
    words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    words.end()?;
    for set in session.schema()?.value_sets().iter() {
        let bits: u32 = set.match_fields.iter().filter_map(|field| field.value.bits()).sum();
        let text = format!("{}: {bits} bits, {} fields", set.name, set.match_fields.len());
        let json = json!({ "kind": "value set", "value_set": set.name, "bits": bits });
        sink(View::new(text, json).into());
    }
    Ok(())
}

/// Converts the operands for a member of a value set from BMv2's form to that of a `value-set`
/// command. BMv2 has one number, in which the fields follow each other without padding.
fn member(session: &Session<'_>, mut words: Operands) -> Result<Operands, CommandError> {
    let schema = session.schema()?;
    let name = words.next("the name of a value set")?;
    let set = find("value set", &name, schema.value_sets().iter())?;
    let text = words.next("a value")?;
    words.end()?;
    let [_, _, ..] = set.match_fields.as_slice() else { return Ok(words.fresh([name, text])) };
    let wrong = |problem: String| CommandError::Value {
        name: set.short().to_owned(),
        text: text.clone(),
        problem,
    };
    let number = entities::written::value(&text).and_then(|bytes| entities::value::decode(&bytes));
    let mut number = number.ok_or_else(|| wrong("it is not a number below 2^128".to_owned()))?;
    let mut texts = Vec::new();
    for field in set.match_fields.iter().rev() {
        let bits = field.value.bits().filter(|bits| *bits < u128::BITS);
        let bits = bits.ok_or_else(|| wrong("a field is a string or too wide".to_owned()))?;
        texts.push((number & ((1 << bits) - 1)).to_string());
        number >>= bits;
    }
    if number > 0 {
        return Err(wrong("it is wider than the fields together".to_owned()));
    }
    texts.reverse();
    Ok(words.fresh([name, texts.join(",")]))
}

/// Runs the command `pvs_add`, which adds a member to a parser value set.
pub(crate) fn add_to_value_set(
    session: &mut Session<'_>,
    words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let words = member(session, words)?;
    crate::value_sets::add(session, words, sink)
}

/// Runs the command `pvs_remove`, which removes a member from a parser value set.
pub(crate) fn remove_from_value_set(
    session: &mut Session<'_>,
    words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let words = member(session, words)?;
    crate::value_sets::remove(session, words, sink)
}
