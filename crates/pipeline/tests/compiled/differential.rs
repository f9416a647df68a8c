//! A generated program on both paths, with entries that come and go between packets; a difference is made small.

#[path = "differential/grammar.rs"]
pub(crate) mod grammar;

use grammar::{Choices, Source};
use ir::Program;
use ir::bits::Bits;
use p4lang::diagnostic::Style;
use p4lang::preprocess::{MemoryFiles, Options};
use pipeline::{
    ActionCall, Batch, CloneSession, Core, EntryAction, FieldMatch, Group, GroupMember,
    MeterConfig, Output, Replica, RunError, Switch, TableEntry,
};
use std::time::Duration;

/// Something that happens to a switch.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    Packet(u32, Vec<u8>),
    /// Numbers that an entry is made of: which table, which key, which action, data.
    Add([u32; 4]),
    /// The entry at this position of a table goes.
    Remove(u32, u32),
}

impl Input {
    fn new(choose: &mut Choices<'_>) -> Self {
        match choose(8) {
            0 => Self::Add([choose(4), choose(16), choose(8), choose(1 << 16)]),
            1 => Self::Remove(choose(4), choose(4)),
            _ => Self::Packet(choose(4), packet(choose)),
        }
    }
}

/// Mostly small numbers, which programs have cases for.
fn packet(choose: &mut Choices<'_>) -> Vec<u8> {
    let length = choose(100);
    let kind = choose(4);
    (0..length)
        .map(|at| match (kind, at) {
            (0..=2, 0) => (choose(8) << 4 | choose(10)) as u8,
            (0..=2, 2) => 0,
            (0..=2, 3) => choose(12) as u8,
            (0, _) => choose(3) as u8,
            (1, _) if choose(2) == 0 => 0xff,
            _ => choose(256) as u8,
        })
        .collect()
}

/// A program and what happens to it.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) source: Source,
    pub(crate) inputs: Vec<Input>,
    /// Most packets that come together.
    batch: usize,
}

impl Case {
    pub(crate) fn new(choose: &mut Choices<'_>, inputs: usize) -> Self {
        let source = Source::new(choose);
        let batch = [1, 2, 40][choose(3) as usize % 3];
        Self { source, inputs: (0..inputs).map(|_| Input::new(choose)).collect(), batch }
    }

    /// What differs, if something does; else how many packets left.
    pub(crate) fn difference(&self) -> Result<usize, String> {
        let text = self.source.text();
        let program = compile(&text);
        let follows = self.source.follows;
        let (mut interpreted, mut compiled) =
            (loaded(&program, follows), loaded(&program, follows));
        compiled.compile().map_err(|error| error.to_string())?;
        let (mut left, mut now) = (0, Duration::from_secs(1));
        let mut inputs = self.inputs.as_slice();
        while let Some(input) = inputs.first() {
            now += Duration::from_micros(1717);
            let packets = inputs.iter().take_while(|input| matches!(input, Input::Packet(..)));
            // Some packets come alone, others together.
            let together = packets.count().min(self.batch);
            let (these, rest) = inputs.split_at(together.max(1));
            inputs = rest;
            match input {
                Input::Packet(..) => {
                    let packets = these.iter().filter_map(|input| match input {
                        Input::Packet(port, packet) => Some((*port, packet.as_slice())),
                        _ => None,
                    });
                    let packets: Vec<(u32, &[u8])> = packets.collect();
                    match together_on(&mut interpreted, &mut compiled, &packets, now)? {
                        Some(sent) => left += sent,
                        None => return Ok(left),
                    }
                }
                Input::Add(numbers) => {
                    add(&mut interpreted, *numbers, now);
                    add(&mut compiled, *numbers, now);
                }
                Input::Remove(table, position) => {
                    remove(&mut interpreted, *table, *position);
                    remove(&mut compiled, *table, *position);
                }
            }
        }
        same_state(&mut interpreted, &mut compiled)?;
        Ok(left)
    }

    /// The smallest case that still differs, which this one does.
    pub(crate) fn smallest(mut self) -> Self {
        loop {
            let before = self.size();
            self.take_away(|case| vec![&mut case.inputs]);
            for part in 0..5 {
                self.take_away(|case| case.source.parts().into_iter().skip(part).take(1).collect());
            }
            self.shorten();
            if self.size() == before {
                return self;
            }
        }
    }

    fn size(&self) -> usize {
        let mut source = self.source.clone();
        let bytes = |input: &Input| match input {
            Input::Packet(_, packet) => packet.len(),
            _ => 1,
        };
        let statements: usize = source.parts().iter().map(|part| part.len()).sum();
        statements + self.inputs.len() + self.inputs.iter().map(bytes).sum::<usize>()
    }

    /// Takes away what the difference does not need, the longest pieces first.
    fn take_away<T: Clone>(&mut self, of: impl Fn(&mut Self) -> Vec<&mut Vec<T>>) {
        let length = |case: &mut Self| of(case).first().map_or(0, |list| list.len());
        let mut piece = length(self).max(1);
        while piece > 0 {
            let mut start = 0;
            while start < length(self) {
                let mut smaller = self.clone();
                for list in of(&mut smaller) {
                    let end = (start + piece).min(list.len());
                    list.drain(start..end);
                }
                if smaller.difference().is_err() {
                    *self = smaller;
                } else {
                    start += piece;
                }
            }
            piece /= 2;
        }
    }

    /// Cuts packets off at the end.
    fn shorten(&mut self) {
        for position in 0..self.inputs.len() {
            loop {
                let mut smaller = self.clone();
                let Some(Input::Packet(_, packet)) = smaller.inputs.get_mut(position) else {
                    break;
                };
                if packet.pop().is_none() || smaller.difference().is_ok() {
                    break;
                }
                *self = smaller;
            }
        }
    }
}

/// Packets at one time on both paths: how many left, or nothing if a limit of the interpreter was reached.
fn together_on(
    interpreted: &mut Switch,
    compiled: &mut Switch,
    packets: &[(u32, &[u8])],
    now: Duration,
) -> Result<Option<usize>, String> {
    let expected = packets.iter().map(|(port, packet)| interpreted.process(*port, packet, now));
    let expected: Vec<_> = expected.collect();
    // Some from stage to stage, some with all stages in one.
    let clock: fn() -> u64 = || 0;
    let first = packets.first().map_or(0, |(_, packet)| packet.len());
    compiled.time_stages(first.is_multiple_of(3).then_some(clock));
    let found = match packets {
        [(port, packet)] => vec![compiled.process(*port, packet, now)],
        _ => in_batch(compiled, packets, now),
    };
    if expected.iter().any(is_limit) {
        return Ok(None);
    }
    for ((expected, found), (_, packet)) in expected.iter().zip(&found).zip(packets) {
        let is_same = match (expected, found) {
            (Ok(expected), Ok(found)) if packets.len() > 1 => {
                let shown = |outputs: &[Output]| -> Vec<(u32, Vec<u8>)> {
                    outputs.iter().map(|one| (one.port, one.packet.clone())).collect()
                };
                shown(expected) == shown(found)
            }
            (expected, found) => expected == found,
        };
        if !is_same {
            return Err(told(packet, expected, found));
        }
    }
    let left = found.iter().flatten().map(Vec::len).sum();
    Ok(Some(left))
}

/// What becomes of each packet of a batch, whose outputs do not tell how often they were copied.
fn in_batch(
    compiled: &mut Switch,
    packets: &[(u32, &[u8])],
    now: Duration,
) -> Vec<Result<Vec<Output>, RunError>> {
    let mut batch = Batch::default();
    compiled.process_batch(packets, now, &mut batch);
    let mut found: Vec<Result<Vec<Output>, RunError>> =
        packets.iter().map(|_| Ok(Vec::new())).collect();
    for (from, port, packet) in batch.sent() {
        if let Some(Ok(outputs)) = found.get_mut(from) {
            outputs.push(Output { port, packet: packet.to_vec(), generation: 0 });
        }
    }
    for (from, error) in batch.errors() {
        if let Some(found) = found.get_mut(*from) {
            *found = Err(error.clone());
        }
    }
    found
}

/// Work and depth are limits of the interpreter alone.
fn is_limit(outcome: &Result<Vec<Output>, RunError>) -> bool {
    matches!(outcome, Err(RunError::WorkLimit(_) | RunError::Depth(_)))
}

fn told(
    packet: &[u8],
    expected: &Result<Vec<Output>, RunError>,
    found: &Result<Vec<Output>, RunError>,
) -> String {
    format!("packet {packet:02x?}\n  interpreter {expected:02x?}\n  compiled    {found:02x?}")
}

fn compile(text: &str) -> Program {
    let compiled =
        p4lang::compile_text("generated.p4", text, &Options::default(), &MemoryFiles::default());
    let Some(program) = compiled.program else {
        let diagnostics = compiled.diagnostics.render(&compiled.sources, Style::Plain);
        panic!("the grammar makes a program that is wrong: {diagnostics}\n{text}");
    };
    program
}

/// A switch with groups, sessions, members and rates.
fn loaded(program: &Program, follows: bool) -> Switch {
    let mut switch = Switch::with_seed(program.clone(), 7).expect("a program that can be run");
    switch.follow_psa_switch(follows);
    let replicas = [(1, 1), (3, 2), (1, 3)].map(|(port, instance)| Replica { port, instance });
    switch.set_multicast_group(4, replicas.to_vec());
    for (session, port, length) in [(5, 2, Some(40)), (6, 3, None)] {
        let replicas = vec![Replica { port, instance: 9 }];
        let session_of =
            CloneSession { replicas, packet_length: length, ..CloneSession::default() };
        switch.set_clone_session(session, Some(session_of));
    }
    if let (Ok(profile), Ok(_)) = (switch.extern_named("I.chosen"), switch.table_named("spread_")) {
        for member in 0..3 {
            let call = action(&switch, "spread_", "port", [member, 0x55]);
            let call = call.expect("the table of the selector");
            switch.add_member(profile, member, call).expect("a member");
        }
        let members = [0, 1, 2].map(|member| GroupMember { member, weight: 1, watch_port: None });
        let group = Group { members: members.to_vec(), max_size: 0 };
        switch.add_group(profile, 1, group).expect("a group");
    }
    for number in 0..40 {
        add(&mut switch, [number % 4, number / 4, number % 5, number * 77], Duration::ZERO);
    }
    for (profile, milliseconds) in [(1, 4), (2, 9)] {
        switch.set_expire_time_profile(profile, Some(Duration::from_millis(milliseconds)));
    }
    if let Ok(set) = switch.value_set_named("known") {
        let members = vec![vec![FieldMatch::Exact(Bits::unsigned(16, 3))]];
        switch.set_value_set(set, &members).expect("members");
    }
    configure_meters(&switch);
    switch
}

/// Meters give all colours for a few packets in some milliseconds.
fn configure_meters(core: &Core) {
    let config =
        MeterConfig::SingleRate { committed_rate: 200, committed_burst: 1, excess_burst: 1 };
    if let Ok(id) = core.extern_named("I.metered") {
        (0..4).for_each(|index| {
            core.configure_meter(id, index, Some(config), Duration::ZERO).expect("an element");
        });
    }
    let bytes = MeterConfig::TwoRate {
        committed_rate: 9000,
        committed_burst: 90,
        peak_rate: 20_000,
        peak_burst: 180,
    };
    for (table, meter, config) in [("ternary_", "I.rated", bytes), ("out_", "E.paced", config)] {
        if let (Ok(table), Ok(meter)) = (core.table_named(table), core.extern_named(meter)) {
            core.configure_direct_meters(table, meter, Some(config), Duration::ZERO)
                .expect("a meter");
        }
    }
}

const TABLES: [&str; 4] = ["exact_", "wide_", "ternary_", "spread_"];

/// Nothing if the program does not apply the table: it is not there then.
fn action(switch: &Switch, table: &str, name: &str, numbers: [u32; 2]) -> Option<ActionCall> {
    let table = switch.table_named(table).ok()?;
    let action = switch.action_named(table, name).ok()?;
    let parameters = switch.program().actions[action.index()].control_plane_parameters().count();
    let numbers = numbers.map(|number| Bits::unsigned(128, u128::from(number & 7)));
    Some(switch.action_call(action, &numbers[..parameters.min(2)]).expect("arguments"))
}

/// Adds an entry; nothing if it is there already or does not fit.
fn add(switch: &mut Switch, [table, key, chosen, data]: [u32; 4], now: Duration) {
    let name = TABLES[table as usize % 4];
    let Ok(id) = switch.table_named(name) else { return };
    let bits = |width: u32, number: u32| Bits::unsigned(width, u128::from(number));
    let (matches, actions): (Vec<FieldMatch>, &[&str]) = match name {
        "exact_" => (
            vec![FieldMatch::Exact(bits(4, key & 15)), FieldMatch::Exact(bits(1, data & 1))],
            &["port", "note", "group", "drop", "NoAction"],
        ),
        "wide_" => {
            let length = (key * 9) % 129;
            let value = Bits::unsigned(128, u128::from(data) << 96 | u128::from(key));
            let value = value.bit_and(&Bits::prefix_mask(128, length));
            let matches = vec![FieldMatch::Lpm { value, prefix_length: length }];
            (matches, &["port", "change", "NoAction"])
        }
        "ternary_" => {
            let value = bits(72, key & 0xf).cast(72, true);
            let mask = bits(72, 0xf).cast(72, true);
            let low = bits(8, key & 7).cast(8, true);
            let high = bits(8, 100).cast(8, true);
            let optional = match data & 1 {
                0 => FieldMatch::Any,
                _ => FieldMatch::Exact(bits(8, key & 3)),
            };
            let matches = vec![
                FieldMatch::Ternary { value, mask },
                FieldMatch::Range { low, high },
                optional,
            ];
            (matches, &["note", "rate", "drop", "NoAction"])
        }
        _ => (vec![FieldMatch::Exact(bits(4, key & 15))], &[]),
    };
    let runs = match actions.get(chosen as usize % actions.len().max(1)) {
        Some(name_of) => match action(switch, name, name_of, [data, data >> 3]) {
            Some(call) => EntryAction::Action(call),
            None => return,
        },
        None if data & 1 == 0 => EntryAction::Member(data % 3),
        None => EntryAction::Group(1),
    };
    let priority = u32::from(name == "ternary_") * (1 + (data & 0xff));
    let entry = TableEntry { matches, priority, action: runs, idle_timeout: None };
    let _ = switch.add_entry(id, entry, now);
}

fn remove(switch: &mut Switch, table: u32, position: u32) {
    let Ok(id) = switch.table_named(TABLES[table as usize % 4]) else { return };
    let entry = switch.entries(id).expect("entries").nth(position as usize);
    if let Some((_, entry)) = entry {
        switch.delete_entry(id, &entry.matches, entry.priority).expect("an entry");
    }
}

/// Registers, counters and messages are the same.
fn same_state(one: &mut Switch, other: &mut Switch) -> Result<(), String> {
    let digests = (one.take_digests(), other.take_digests());
    if digests.0 != digests.1 {
        return Err(format!("digests\n  {:?}\n  {:?}", digests.0, digests.1));
    }
    for name in ["I.small", "I.large"] {
        let Ok(id) = one.extern_named(name) else { continue };
        for index in 0..4 {
            let values = (one.register(id, index), other.register(id, index));
            if values.0 != values.1 {
                return Err(format!("{name}[{index}]: {:?}, {:?}", values.0, values.1));
            }
        }
    }
    if let Ok(id) = one.extern_named("I.counted") {
        for index in 0..4 {
            let values = (one.counter(id, index), other.counter(id, index));
            if values.0 != values.1 {
                return Err(format!("counted[{index}]: {:?}, {:?}", values.0, values.1));
            }
        }
    }
    for table in ["learning_", "values_"] {
        let Ok(id) = one.table_named(table) else { continue };
        let entries = |switch: &Switch| -> Vec<TableEntry> {
            switch.entries(id).expect("entries").map(|(_, entry)| entry).collect()
        };
        let found = (entries(one), entries(other));
        if found.0 != found.1 {
            return Err(format!("entries of {table}\n  {:?}\n  {:?}", found.0, found.1));
        }
    }
    let (Ok(id), Ok(table)) = (one.extern_named("I.hits"), one.table_named("exact_")) else {
        return Ok(());
    };
    let handles: Vec<_> = one.entries(table).expect("entries").map(|(handle, _)| handle).collect();
    for handle in handles {
        let values =
            (one.direct_counter(table, handle, id), other.direct_counter(table, handle, id));
        if values.0 != values.1 {
            return Err(format!("hits of {handle:?}: {:?}, {:?}", values.0, values.1));
        }
    }
    Ok(())
}
