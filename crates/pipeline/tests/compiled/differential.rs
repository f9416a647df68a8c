//! Runs a generated program on every way that packets may take, and shrinks a case that shows a
//! difference.

#[path = "differential/grammar.rs"]
pub(crate) mod grammar;

#[path = "differential/state.rs"]
pub(crate) mod state;

use super::apart::Apart;
use grammar::{Choices, Source};
use ir::Program;
use p4lang::diagnostic::Style;
use p4lang::preprocess::{MemoryFiles, Options};
use pipeline::{Batch, Output, RunError, Switch, Way};
use std::time::Duration;

/// The seed of the random numbers that programs draw.
const SEED: u64 = 7;

/// An event that a switch processes.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    Packet(u32, Vec<u8>),
    /// An entry to add, as four numbers: its table, key, action and data.
    Add([u32; 4]),
    /// An entry to remove, as its table and its position.
    Remove(u32, u32),
}

impl Input {
    fn new(choose: &mut Choices<'_>) -> Self {
        match choose(8) {
            0 => Self::Add([choose(8), choose(16), choose(8), choose(1 << 16)]),
            1 => Self::Remove(choose(8), choose(4)),
            _ => Self::Packet(choose(4), packet(choose)),
        }
    }
}

/// Returns a packet with mostly small numbers, which programs have cases for.
fn packet(choose: &mut Choices<'_>) -> Vec<u8> {
    let length = choose(100);
    let kind = choose(4);
    (0..length)
        .map(|at| match (kind, at) {
            (0..=2, 0) => (choose(8) << 4 | choose(10)) as u8,
            (0..=2, 2) => 0,
            (0..=2, 3) => choose(12) as u8,
            (0, _) => choose(3) as u8,
            // Wide fields are mostly small numbers, as in entries.
            (2, 18..) if choose(8) > 0 => 0,
            (1, _) if choose(2) == 0 => 0xff,
            _ => choose(256) as u8,
        })
        .collect()
}

/// A program and the events that it processes.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) source: Source,
    pub(crate) inputs: Vec<Input>,
    /// The largest number of packets in a batch.
    batch: usize,
    /// The limit on the work that a packet may cause, if the case sets one.
    work: Option<u32>,
}

impl Case {
    pub(crate) fn new(choose: &mut Choices<'_>, inputs: usize) -> Self {
        let source = Source::new(choose);
        let batch = [1, 2, 40][choose(3) as usize % 3];
        let inputs = (0..inputs).map(|_| Input::new(choose)).collect();
        // With a limit, many packets end before they leave.
        let work = (choose(4) == 0).then(|| 1 << choose(13));
        Self { source, inputs, batch, work }
    }

    /// Compares the interpreter with every way of machine code.
    ///
    /// # Errors
    /// Returns the first difference.
    pub(crate) fn difference(&self) -> Result<Outcome, String> {
        let (mut interpreted, mut compiled) = (self.load(), self.load());
        compiled.compile().map_err(|error| error.to_string())?;
        state::prepare(&mut interpreted);
        let expected = self.run(&mut interpreted, &[]);
        let left_behind = state::observed(&mut interpreted);
        let ways: Vec<Way> = compiled.ways().into_iter().skip(1).collect();
        let each = ways.iter().map(|way| vec![*way]);
        // Packets may go by another way than the packets before them, over the same state.
        let mixed = (ways.len() > 1).then(|| compiled.ways());
        for these in each.chain(mixed) {
            let named = these.iter().map(Way::to_string).collect::<Vec<_>>().join(", then ");
            let named = self.work.map_or(named.clone(), |units| format!("{named}, {units} units"));
            compiled.reset().expect("it was loaded once");
            compiled.follow_psa_switch(self.source.follows);
            state::prepare(&mut compiled);
            let found = self.run(&mut compiled, &these);
            for (expected, found) in expected.iter().zip(&found) {
                expected.same(found).map_err(|told| format!("{named}: {told}"))?;
            }
            let found = state::observed(&mut compiled);
            let mut parts = left_behind.iter().zip(&found);
            if let Some((one, other)) = parts.find(|(one, other)| one != other) {
                return Err(format!("{named}: left behind\n  {one}\n  {other}"));
            }
            if left_behind.len() != found.len() {
                return Err(format!("{named}: left behind\n  {left_behind:?}\n  {found:?}"));
            }
        }
        let left = expected.iter().flat_map(|burst| &burst.outcomes).flatten().map(Vec::len).sum();
        Ok(Outcome { left, ways })
    }

    fn load(&self) -> Switch {
        let switch = Switch::with_seed(compile(&self.source.text()), SEED);
        let mut switch = switch.expect("a program that can be run");
        if let Some(units) = self.work {
            switch.set_packet_work(units);
        }
        switch.follow_psa_switch(self.source.follows);
        switch
    }

    /// Processes the inputs. Bursts take the ways in turn.
    fn run(&self, switch: &mut Switch, ways: &[Way]) -> Vec<Burst> {
        let (mut bursts, mut now) = (Vec::new(), Duration::from_secs(1));
        let mut inputs = self.inputs.as_slice();
        while let Some(input) = inputs.first() {
            now += Duration::from_micros(1717);
            let packets = inputs.iter().take_while(|input| matches!(input, Input::Packet(..)));
            // Some packets are processed alone, and others in bursts.
            let together = packets.count().min(self.batch);
            let (these, rest) = inputs.split_at(together.max(1));
            inputs = rest;
            match input {
                Input::Packet(..) => {
                    let packets = these.iter().filter_map(|input| match input {
                        Input::Packet(port, packet) => Some((*port, packet.clone())),
                        _ => None,
                    });
                    let way = ways.get(bursts.len() % ways.len().max(1)).copied();
                    switch.choose_way(way);
                    bursts.push(Burst::of(switch, packets.collect(), now));
                }
                Input::Add(numbers) => state::add(switch, *numbers, now),
                Input::Remove(table, position) => state::remove(switch, *table, *position),
            }
        }
        bursts
    }

    /// Returns whether some batches of the case go without the payload.
    #[allow(dead_code, reason = "fuzzers do not ask")]
    pub(crate) fn has_heads(&self) -> bool {
        self.load().head_bytes().is_some()
    }

    /// Returns the smallest case that still differs. This case must differ.
    pub(crate) fn smallest(mut self) -> Self {
        loop {
            let before = self.size();
            self.take_away(|case| vec![&mut case.inputs]);
            for part in 0..self.source.parts().len() {
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

    /// Removes what the difference does not need, the longest pieces first.
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

    /// Truncates packets.
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

/// The results of a case without a difference.
#[allow(dead_code, reason = "the fuzz target asks for differences alone")]
pub(crate) struct Outcome {
    /// The number of packets that left.
    pub(crate) left: usize,
    /// The ways of machine code that were compared with the interpreter.
    pub(crate) ways: Vec<Way>,
}

/// Packets that came at one time, and the outcome of each.
struct Burst {
    packets: Vec<(u32, Vec<u8>)>,
    outcomes: Vec<Result<Vec<Output>, RunError>>,
}

impl Burst {
    fn of(switch: &mut Switch, packets: Vec<(u32, Vec<u8>)>, now: Duration) -> Self {
        let borrowed: Vec<(u32, &[u8])> =
            packets.iter().map(|(port, packet)| (*port, packet.as_slice())).collect();
        let outcomes = match borrowed.as_slice() {
            [(port, packet)] => vec![switch.process(*port, packet, now)],
            together => in_batch(switch, together, now),
        };
        Self { packets, outcomes }
    }

    fn same(&self, found: &Self) -> Result<(), String> {
        let outcomes = self.outcomes.iter().zip(&found.outcomes);
        for ((expected, found), (port, packet)) in outcomes.zip(&self.packets) {
            if expected != found {
                return Err(format!(
                    "port {port}, packet {packet:02x?}, one of {}\n  interpreter {expected:02x?}\n  compiled    {found:02x?}",
                    self.packets.len()
                ));
            }
        }
        Ok(())
    }
}

/// Returns the outcome of each packet of a batch. Its outputs do not tell how often they were
/// copied.
fn in_batch(
    compiled: &mut Switch,
    packets: &[(u32, &[u8])],
    now: Duration,
) -> Vec<Result<Vec<Output>, RunError>> {
    let mut batch = Batch::default();
    // Machine code gets every other batch without the payload, if the program does not look at it.
    // The interpreter, which is the reference, gets whole packets.
    let is_apart = compiled.ways().len() > 1 && now.subsec_micros().is_multiple_of(2);
    let apart = compiled.head_bytes().filter(|_| is_apart);
    let apart = apart.map(|head| Apart::new(packets, head, now.subsec_micros().into()));
    match &apart {
        Some(apart) => compiled.process_heads(apart.as_heads(), now, &mut batch),
        None => compiled.process_batch(packets, now, &mut batch),
    }
    let mut found: Vec<Result<Vec<Output>, RunError>> =
        packets.iter().map(|_| Ok(Vec::new())).collect();
    for (from, port, packet) in batch.sent() {
        if let Some(Ok(outputs)) = found.get_mut(from) {
            let behind = apart
                .as_ref()
                .map_or(&[][..], |apart| &packets[from].1[apart.heads[from].1.len()..]);
            outputs.push(Output { port, packet: [packet, behind].concat(), generation: 0 });
        }
    }
    for (from, error) in batch.errors() {
        if let Some(found) = found.get_mut(*from) {
            *found = Err(error.clone());
        }
    }
    found
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
