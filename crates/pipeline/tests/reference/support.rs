//! Functions that compile small programs and return their outputs.

pub(crate) use crate::program::{V1model, compile};
use ir::bits::Bits;
use pipeline::{ActionCall, CrcParameters, EntryAction, FieldMatch, Switch, TableEntry};
use std::time::Duration;

/// A CRC of 16 bits (CCITT, "false") that no architecture names.
pub(crate) const CRC16_CCITT: CrcParameters = CrcParameters {
    width: 16,
    polynomial: 0x1021,
    initial: 0xffff,
    reflect_input: false,
    reflect_output: false,
    final_xor: 0,
};

/// Compiles a text and loads it into a switch.
pub(crate) fn load(text: &str) -> Switch {
    match Switch::new(compile(text)) {
        Ok(switch) => switch,
        Err(error) => panic!("{error}"),
    }
}

impl V1model<'_> {
    pub(crate) fn load(&self) -> Switch {
        load(&self.text())
    }
}

/// Runs `body` as the ingress of a program with one header, which has the sixteen bytes `h.r.a` to
/// `h.r.p` and leaves through port 0. Returns these bytes. `declarations` come before the control,
/// and `locals` inside it.
pub(crate) fn registers(declarations: &str, locals: &str, body: &str) -> Vec<u8> {
    let fields: String =
        ('a'..='p').map(|name| format!("bit<8> {name};")).collect::<Vec<_>>().join(" ");
    let mut switch = V1model {
        declarations: &format!(
            "header R {{ {fields} }} struct H {{ R r; }} struct M {{ bit<8> x; }} {declarations}"
        ),
        parser: "state start { b.extract(h.r); transition accept; }",
        ingress: &format!("{locals} apply {{ {body} }}"),
        ..V1model::default()
    }
    .load();
    packet(&mut switch, 1, &[0; 16])
}

/// Returns the only packet that leaves for a packet on a port.
pub(crate) fn packet(switch: &mut Switch, port: u32, bytes: &[u8]) -> Vec<u8> {
    let mut outputs = outputs(switch, port, bytes);
    assert_eq!(outputs.len(), 1, "{outputs:?}");
    outputs.remove(0).1
}

/// Returns the ports and packets that leave for a packet on a port.
pub(crate) fn outputs(switch: &mut Switch, port: u32, bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
    outputs_at(switch, port, bytes, Duration::ZERO)
}

/// Returns the ports and packets that leave for a packet on a port at a time.
pub(crate) fn outputs_at(
    switch: &mut Switch,
    port: u32,
    bytes: &[u8],
    now: Duration,
) -> Vec<(u32, Vec<u8>)> {
    let outputs = match switch.process(port, bytes, now) {
        Ok(outputs) => outputs,
        Err(error) => panic!("{error}"),
    };
    outputs.into_iter().map(|output| (output.port, output.packet)).collect()
}

/// Returns a call of an action with arguments.
pub(crate) fn call(switch: &Switch, table: &str, action: &str, arguments: &[u128]) -> ActionCall {
    let table = switch.table_named(table).expect("table");
    let action = switch.action_named(table, action).expect("action");
    let arguments: Vec<Bits> =
        arguments.iter().map(|argument| Bits::unsigned(128, *argument)).collect();
    switch.action_call(action, &arguments).expect("arguments")
}

/// Returns an entry with an action.
pub(crate) fn entry(matches: Vec<FieldMatch>, priority: u32, action: ActionCall) -> TableEntry {
    TableEntry { matches, priority, action: EntryAction::Action(action), idle_timeout: None }
}

/// Adds an entry with one exact key.
pub(crate) fn add_exact(
    switch: &mut Switch,
    table: &str,
    key: u128,
    action: &str,
    arguments: &[u128],
) {
    let action = call(switch, table, action, arguments);
    let id = switch.table_named(table).expect("table");
    let entry = entry(vec![exact(key)], 0, action);
    switch.add_entry(id, entry, Duration::ZERO).expect("entry");
}

pub(crate) fn exact(value: u128) -> FieldMatch {
    FieldMatch::Exact(bits(value))
}

pub(crate) fn bits(value: u128) -> Bits {
    Bits::unsigned(128, value)
}
