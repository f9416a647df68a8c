//! A program that runs on the interpreter and on the compiled path, which must agree.

use crate::apart::Apart;
pub(crate) use crate::program::{V1model, compile};
use ir::Program;
use pipeline::{Batch, Compiled, Output, Processor, RunError, Switch, TableEntry};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::time::Duration;

impl V1model<'_> {
    pub(crate) fn both(&self) -> Both {
        Both::new(&compile(&self.text()))
    }

    /// Returns the message with which the compiled path refuses this program.
    pub(crate) fn refused(&self) -> String {
        let switch = Switch::new(compile(&self.text())).expect("a program that can be run");
        Compiled::new(&switch).expect_err("a program that cannot be compiled").to_string()
    }
}

/// Returns a program of PSA with a header `R`, which is extracted, goes through an ingress control
/// with this text, and is emitted.
pub(crate) fn psa_of_ingress(header: &str, ingress: &str) -> String {
    format!(
        "#include <core.p4>
        #include <bmv2/psa.p4>
        {header} struct H {{ R r; }} struct M {{}} struct N {{}}
        parser IP(packet_in p, out H h, inout M m, in psa_ingress_parser_input_metadata_t i, in N s, in N r) {{
            state start {{ p.extract(h.r); transition accept; }} }}
        control I(inout H h, inout M m, in psa_ingress_input_metadata_t i, inout psa_ingress_output_metadata_t o) {{
            {ingress} }}
        control ID(packet_out p, out N c, out N s, out N n, inout H h, in M m, in psa_ingress_output_metadata_t o) {{
            apply {{ p.emit(h.r); }} }}
        parser EP(packet_in p, out H h, inout M m, in psa_egress_parser_input_metadata_t i, in N n, in N c, in N e) {{
            state start {{ transition accept; }} }}
        control E(inout H h, inout M m, in psa_egress_input_metadata_t i, inout psa_egress_output_metadata_t o) {{ apply {{ }} }}
        control ED(packet_out p, out N c, out N r, inout H h, in M m, in psa_egress_output_metadata_t o,
            in psa_egress_deparser_input_metadata_t i) {{ apply {{ }} }}
        PSA_Switch(IngressPipeline(IP(), I(), ID()), PacketReplicationEngine(), EgressPipeline(EP(), E(), ED()),
            BufferingQueueingEngine()) main;"
    )
}

/// A program that is loaded twice, into two switches with their own state.
pub(crate) struct Both {
    pub(crate) interpreted: Switch,
    pub(crate) compiled: Switch,
    code: Compiled,
    worker: Processor,
    /// Workers that have joined the tables and process nothing.
    others: Vec<Processor>,
    now: Duration,
    /// The number of calls that processed a batch or a single packet.
    calls: u64,
}

impl Both {
    pub(crate) fn new(program: &Program) -> Self {
        Self::following(program, false)
    }

    /// Loads a program twice. A program of PSA behaves as on psa_switch if `follows` is true, and
    /// else as its specification says.
    pub(crate) fn following(program: &Program, follows: bool) -> Self {
        Self::prepared(program, |switch| switch.follow_psa_switch(follows))
    }

    /// Loads the program twice, and prepares both switches before one of them is compiled.
    pub(crate) fn prepared(program: &Program, prepare: impl Fn(&mut Switch)) -> Self {
        let mut interpreted = Switch::new(program.clone()).expect("a program that can be run");
        let mut compiled = Switch::new(program.clone()).expect("a program that can be run");
        prepare(&mut interpreted);
        prepare(&mut compiled);
        let code = Compiled::new(&compiled).unwrap_or_else(|error| panic!("{error}"));
        let worker = Processor::with_seed(0);
        let (others, now) = (Vec::new(), Duration::from_secs(1));
        Self { interpreted, compiled, code, worker, others, now, calls: 0 }
    }

    /// Returns the reason why packets do not go in bursts, if they do not.
    pub(crate) fn one_by_one(&self) -> Option<&'static str> {
        self.code.one_by_one()
    }

    /// Returns the number of steps that machine code leaves to the interpreter.
    pub(crate) fn interpreted_steps(&self) -> usize {
        self.code.interpreted().count()
    }

    /// Returns the descriptions of what machine code leaves to the interpreter.
    pub(crate) fn interpreted(&self) -> Vec<String> {
        self.code.interpreted().map(|(place, what)| format!("{place}: {what}")).collect()
    }

    /// Returns the names of the tables that machine code does not search itself.
    pub(crate) fn interpreted_tables(&self) -> Vec<&str> {
        let tables = self.compiled.program().tables.iter().zip(0..);
        let left = tables.filter(|(_, number)| !self.code.stores(ir::TableId(*number)));
        left.map(|(table, _)| table.name.as_str()).collect()
    }

    /// Adds an idle worker if `shares` is true. Removes all idle workers otherwise.
    pub(crate) fn share(&mut self, shares: bool) {
        self.others.clear();
        if shares {
            let (mut other, mut batch) = (Processor::with_seed(1), Batch::default());
            self.code.process_batch(&self.compiled, &mut other, &[], self.now, &mut batch);
            self.others.push(other);
        }
    }

    pub(crate) fn now(&self) -> Duration {
        self.now
    }

    pub(crate) fn wait(&mut self, time: Duration) {
        self.now += time;
    }

    /// Applies a change to both switches.
    pub(crate) fn each(&mut self, change: impl Fn(&mut Switch)) {
        change(&mut self.interpreted);
        change(&mut self.compiled);
    }

    /// Processes a packet on both switches and returns the outcome.
    ///
    /// # Panics
    /// Panics if the outcomes differ.
    pub(crate) fn packet(&mut self, port: u32, packet: &[u8]) -> Result<Vec<Output>, RunError> {
        self.now += Duration::from_micros(17);
        let expected = self.interpreted.process(port, packet, self.now);
        let mut outputs = Vec::new();
        self.change_way();
        let outcome = self.code.process(
            &self.compiled,
            &mut self.worker,
            (port, packet),
            self.now,
            &mut outputs,
        );
        let found = outcome.map(|()| outputs);
        assert_eq!(expected, found, "port {port}, packet {packet:02x?}");
        found
    }

    /// Processes packets in one batch in machine code, and one by one on the interpreter. Returns
    /// the number of packets that left.
    ///
    /// # Panics
    /// Panics if the outcomes differ.
    pub(crate) fn batch(&mut self, packets: &[(u32, Vec<u8>)]) -> usize {
        self.now += Duration::from_micros(17);
        let borrowed: Vec<(u32, &[u8])> =
            packets.iter().map(|(port, packet)| (*port, packet.as_slice())).collect();
        let mut batch = Batch::default();
        self.change_way();
        let apart = self.compiled.head_bytes().map(|head| Apart::new(&borrowed, head, self.calls));
        match apart.as_ref().filter(|_| self.calls.is_multiple_of(2)) {
            Some(apart) => {
                let heads = apart.as_heads();
                self.code.process_heads(
                    &self.compiled,
                    &mut self.worker,
                    heads,
                    self.now,
                    &mut batch,
                );
            }
            None => self.code.process_batch(
                &self.compiled,
                &mut self.worker,
                &borrowed,
                self.now,
                &mut batch,
            ),
        }
        let apart = apart.filter(|_| self.calls.is_multiple_of(2));
        let (mut sent, mut errors) = (Vec::new(), Vec::new());
        for (position, (port, packet)) in borrowed.iter().enumerate() {
            match self.interpreted.process(*port, packet, self.now) {
                Ok(outputs) => {
                    sent.extend(outputs.into_iter().map(|one| (position, one.port, one.packet)));
                }
                Err(error) => errors.push((position, error)),
            }
        }
        let behind = |from: usize| match &apart {
            Some(apart) => &borrowed[from].1[apart.heads[from].1.len()..],
            None => &[],
        };
        let found =
            batch.sent().map(|(from, port, bytes)| (from, port, [bytes, behind(from)].concat()));
        let found: Vec<_> = found.collect();
        assert_eq!((sent, errors), (found, batch.errors().to_vec()));
        batch.sent().len()
    }

    /// Varies the generated functions that packets take. Every third call times the stages, so its
    /// packets take one stage after the other. In the other calls packets may take the fused
    /// function.
    fn change_way(&mut self) {
        self.calls += 1;
        let clock: fn() -> u64 = || 0;
        self.worker.time_stages(self.calls.is_multiple_of(3).then_some(clock));
    }

    /// Returns the number of digests that each switch sent since the last call.
    ///
    /// # Panics
    /// Panics if the digests differ.
    pub(crate) fn digests(&mut self) -> usize {
        let expected = self.interpreted.take_digests();
        assert_eq!(expected, self.worker.take_digests());
        expected.len()
    }

    /// Processes random packets of all lengths up to `longest`, and returns the number of packets
    /// that left.
    pub(crate) fn random_packets(&mut self, seed: u64, count: usize, longest: usize) -> usize {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut left = 0;
        for number in 0..count {
            let length = number % (longest + 1);
            // Programs test for small numbers and for ones more often than for other values.
            let kind = random.random_range(0..4);
            let bytes: Vec<u8> = (0..length)
                .map(|_| match kind {
                    0 => random.random_range(0..3),
                    1 if random.random_range(0..2) == 0 => 0xff,
                    _ => random.random(),
                })
                .collect();
            let port = random.random_range(0..4);
            left += self.packet(port, &bytes).map_or(0, |outputs| outputs.len());
        }
        left
    }
}

/// Returns the entries of a table.
pub(crate) fn entries(switch: &Switch, table: &str) -> Vec<TableEntry> {
    let id = switch.table_named(table).expect("a table");
    switch.entries(id).expect("entries").map(|(_, entry)| entry).collect()
}

/// Returns a random packet of up to 59 bytes. The masks clear bits at some positions.
pub(crate) fn masked_packet(random: &mut ChaCha8Rng, masks: &[(usize, u8)]) -> Vec<u8> {
    let length = random.random_range(0..60);
    let mut packet: Vec<u8> = (0..length).map(|_| random.random()).collect();
    for (at, mask) in masks {
        if let Some(byte) = packet.get_mut(*at) {
            *byte &= mask;
        }
    }
    packet
}
