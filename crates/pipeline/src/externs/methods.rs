//! Methods of extern instances.

use super::calls::within;
use super::hash::{ones_complement_difference, ones_complement_sum};
use super::meter::Color;
use super::{Call, ChecksumState, ExternState};
use crate::error::RunError;
use crate::machine::{Machine, Stop, damaged};
use crate::state::Digest;
use crate::table::EntryHandle;
use crate::value::Value;
use ir::bits::Bits;
use ir::{Argument, ExternId, Table};

/// Whether a method of an extern type can be run.
pub(super) fn known(extern_type: &str, method: &str) -> bool {
    matches!(
        (extern_type, method),
        ("counter" | "Counter" | "direct_counter" | "DirectCounter", "count")
            | ("register" | "Register", "read" | "write")
            | ("meter", "execute_meter")
            | ("direct_meter", "read")
            | ("Meter" | "DirectMeter", "execute" | "dpdk_execute")
            | ("Hash", "get_hash")
            | ("Checksum", "clear" | "update" | "get")
            | ("Checksum16", "get")
            | (
                "InternetChecksum",
                "clear" | "add" | "subtract" | "get" | "get_state" | "set_state"
            )
            | ("Random", "read")
            | ("Digest", "pack")
            | ("ipsec_accelerator" | "crypto_accelerator" | "tc_skb_metadata", _)
    )
}

impl Machine<'_> {
    pub(super) fn call_method(
        &mut self,
        call: &Call<'_>,
        id: ExternId,
        method: &str,
    ) -> Result<Option<Value>, Stop> {
        let instance = self.layout.program.externs.get(id.index());
        let instance = instance.ok_or_else(|| damaged("extern instance"))?;
        match (instance.extern_type.as_str(), method) {
            ("counter" | "Counter", "count") => self.count(call, id).map(|()| None),
            ("direct_counter" | "DirectCounter", "count") => {
                self.count_direct(call, id).map(|()| None)
            }
            ("register", "read") => {
                let index = self.input_number(call, 1)?;
                if let Some(value) = self.register(id, index)? {
                    self.output(call, 0, value)?;
                }
                Ok(None)
            }
            ("Register", "read") => {
                let index = self.input_number(call, 0)?;
                self.register(id, index)
            }
            ("register" | "Register", "write") => self.write_register(call, id).map(|()| None),
            ("meter", "execute_meter") => {
                let index = self.input_number(call, 0)?;
                if let Some(color) =
                    self.execute_meter(id, index, Color::Green, self.received_length)?
                {
                    self.output(call, 1, color_number(color))?;
                }
                Ok(None)
            }
            ("direct_meter", "read") => {
                if let Some(color) = self.execute_direct(id, Color::Green, self.received_length)? {
                    self.output(call, 0, color_number(color))?;
                }
                Ok(None)
            }
            ("Meter", _) => {
                let index = self.input_number(call, 0)?;
                let (before, length) = self.color_and_length(call, 1, method)?;
                let color = self.execute_meter(id, index, before, length)?.unwrap_or(before);
                Ok(Some(self.color_member(color)))
            }
            ("DirectMeter", _) => {
                let (before, length) = self.color_and_length(call, 0, method)?;
                let color = self.execute_direct(id, before, length)?;
                if self.state.follows_psa_switch {
                    // BMv2's number, and nothing without a hit (`MatchTableAbstract::apply_action`).
                    return Ok(color.map(|color| Value::Enum(color as u32)));
                }
                Ok(Some(self.color_member(color.unwrap_or(before))))
            }
            ("Hash", "get_hash") => self.get_hash(call, id).map(Some),
            ("Checksum16", "get") => {
                let data = self.input_data(call, 0)?;
                let hash = self.hash("csum16", &data)?;
                Ok(Some(Value::Bits(Bits::unsigned(64, u128::from(hash)))))
            }
            ("Checksum", _) => self.checksum(call, id, method),
            ("InternetChecksum", _) => self.internet_checksum(call, id, method),
            ("Random", "read") => self.random(id).map(Some),
            ("ipsec_accelerator" | "crypto_accelerator", _) => self.accelerator(call, method),
            // There is no kernel: its metadata are zero, and what they are set to has no effect.
            ("tc_skb_metadata", _) if method.starts_with("get_") => {
                Ok(Some(Value::Bits(Bits::zero(64, false))))
            }
            ("tc_skb_metadata", _) => Ok(None),
            ("Digest", "pack") => {
                let type_id = match call.arguments.first() {
                    Some(Argument::In(expression)) => expression.type_id,
                    _ => return Err(damaged("argument of an extern")),
                };
                let value = self.input(call, 0)?;
                let digest = Digest { instance: Some(id), receiver: None, type_id, value };
                self.state.digests.push(digest);
                Ok(None)
            }
            _ => Err(RunError::UnknownExtern {
                place: self.at(call.location),
                name: format!("{}.{method}", instance.extern_type),
            }
            .into()),
        }
    }

    fn count(&mut self, call: &Call<'_>, id: ExternId) -> Result<(), Stop> {
        let index = self.input_number(call, 0)?;
        let bytes = self.counted_bytes(call, 1)?;
        let ExternState::Counter(counters) = self.extern_state(id)? else {
            return Err(damaged("counter"));
        };
        if index < counters.size {
            counters.values.entry(index).or_default().count(bytes);
        }
        Ok(())
    }

    /// The length that DPDK's `count` is given, or that of the packet.
    fn counted_bytes(&self, call: &Call<'_>, position: usize) -> Result<u64, Stop> {
        match call.arguments.get(position) {
            None | Some(Argument::Absent) => Ok(self.received_length),
            Some(_) => self.input_number(call, position),
        }
    }

    /// In v1model every hit was counted already.
    fn count_direct(&mut self, call: &Call<'_>, id: ExternId) -> Result<(), Stop> {
        if self.state.counts_every_hit {
            return Ok(());
        }
        let bytes = self.counted_bytes(call, 0)?;
        if let Some((table, handle)) = self.entry_of(id)
            && let Some(state) = self.state.tables.get_mut(table)
            && let Some(counter) = state.counter(handle, id)
        {
            counter.count(bytes);
        }
        Ok(())
    }

    /// The entry whose action runs now, of the table that a direct extern belongs to. In BMv2, the
    /// default entry has no counters and meters.
    fn entry_of(&self, id: ExternId) -> Option<(usize, EntryHandle)> {
        let table = self.layout.program.externs.get(id.index())?.table?;
        let lookup = self.lookups.iter().rev().find(|lookup| lookup.table == table)?;
        let of_default = !self.state.counts_every_hit;
        let entry = lookup.entry.or(of_default.then_some(EntryHandle::DEFAULT))?;
        Some((table.index(), entry))
    }

    fn register(&mut self, id: ExternId, index: u64) -> Result<Option<Value>, Stop> {
        let ExternState::Register(registers) = self.extern_state(id)? else {
            return Err(damaged("register"));
        };
        if index >= registers.size {
            return Ok(None);
        }
        Ok(Some(registers.values.get(&index).unwrap_or(&registers.initial).clone()))
    }

    fn write_register(&mut self, call: &Call<'_>, id: ExternId) -> Result<(), Stop> {
        let index = self.input_number(call, 0)?;
        let value = self.input(call, 1)?;
        let ExternState::Register(registers) = self.extern_state(id)? else {
            return Err(damaged("register"));
        };
        if index < registers.size {
            registers.values.insert(index, value);
        }
        Ok(())
    }

    fn execute_meter(
        &mut self,
        id: ExternId,
        index: u64,
        before: Color,
        length: u64,
    ) -> Result<Option<Color>, Stop> {
        let now = self.now;
        let ExternState::Meter(meters) = self.extern_state(id)? else {
            return Err(damaged("meter"));
        };
        if index >= meters.size {
            return Ok(None);
        }
        let size = if meters.counts_packets { 1 } else { length };
        let meter = meters.meters.get_mut(&index);
        Ok(Some(meter.map_or(before, |meter| meter.execute(size, before, now))))
    }

    /// Runs the direct meters of the entry that was hit, as BMv2 does before the action
    /// (`match_tables.cpp`, `apply_action`), and stores their colours where the program reads them,
    /// whether this action does or not.
    pub(crate) fn execute_direct_meters(&mut self, table: &Table) -> Result<(), Stop> {
        for id in &table.direct_externs {
            if !matches!(self.extern_state(*id)?, ExternState::DirectMeter { .. }) {
                continue;
            }
            let Some(color) = self.execute_direct(*id, Color::Green, self.received_length)? else {
                continue;
            };
            if let Some(place) = self.layout.meter_result(*id) {
                let place = self.resolve(place)?;
                self.write_as(&place, color_number(color))?;
            }
        }
        Ok(())
    }

    /// The colour that the meter of the entry that was hit gave; `None` if there is no such entry. It runs
    /// once per lookup.
    fn execute_direct(
        &mut self,
        id: ExternId,
        before: Color,
        length: u64,
    ) -> Result<Option<Color>, Stop> {
        let now = self.now;
        let ExternState::DirectMeter { counts_packets } = *self.extern_state(id)? else {
            return Err(damaged("direct meter"));
        };
        let Some((table, handle)) = self.entry_of(id) else { return Ok(None) };
        let size = if counts_packets { 1 } else { length };
        let state = self.state.tables.get_mut(table);
        let Some(meter) = state.and_then(|table| table.meter(handle, id)) else { return Ok(None) };
        if !self.state.counts_every_hit {
            return Ok(Some(meter.execute(size, before, now)));
        }
        let known = self
            .lookups
            .iter()
            .rev()
            .find(|lookup| lookup.entry == Some(handle))
            .and_then(|lookup| lookup.colors.iter().find(|(meter, _)| *meter == id));
        if let Some((_, color)) = known {
            return Ok(Some(*color));
        }
        let color = meter.execute(size, before, now);
        let lookup = self.lookups.iter_mut().rev().find(|lookup| lookup.entry == Some(handle));
        if let Some(lookup) = lookup {
            lookup.colors.push((id, color));
        }
        Ok(Some(color))
    }

    /// Arguments of `execute(colour)` and DPDK's `dpdk_execute(colour, length)`, each with or without
    /// the colour, from position `first`.
    fn color_and_length(
        &self,
        call: &Call<'_>,
        first: usize,
        method: &str,
    ) -> Result<(Color, u64), Stop> {
        let given = call.arguments.len();
        if method != "dpdk_execute" {
            return Ok((self.color_before(call, first)?, self.received_length));
        }
        let with_color = given > first + 1;
        let color = if with_color { self.color_before(call, first)? } else { Color::Green };
        Ok((color, self.input_number(call, given.saturating_sub(1))?))
    }

    /// The colour that a packet came with; green without argument.
    fn color_before(&self, call: &Call<'_>, position: usize) -> Result<Color, Stop> {
        match call.arguments.get(position) {
            None | Some(Argument::Absent) => Ok(Color::Green),
            Some(_) => Ok(match self.input_member(call, position)?.as_str() {
                "RED" => Color::Red,
                "YELLOW" => Color::Yellow,
                _ => Color::Green,
            }),
        }
    }

    fn color_member(&self, color: Color) -> Value {
        let member = match color {
            Color::Green => "GREEN",
            Color::Yellow => "YELLOW",
            Color::Red => "RED",
        };
        let position = ["PSA_MeterColor_t", "PNA_MeterColor_t"]
            .iter()
            .find_map(|name| self.layout.enum_position(name, member));
        Value::Enum(position.unwrap_or(0))
    }

    fn get_hash(&mut self, call: &Call<'_>, id: ExternId) -> Result<Value, Stop> {
        let ExternState::Hash { algorithm } = self.extern_state(id)? else {
            return Err(damaged("hash"));
        };
        let algorithm = algorithm.clone();
        if call.arguments.len() < 3 {
            let data = self.input_data_to_the_right(call, 0)?;
            let hash = self.hash(&algorithm, &data)?;
            return Ok(Value::Bits(Bits::unsigned(64, u128::from(hash))));
        }
        let data = self.input_data_to_the_right(call, 1)?;
        let hash = self.hash(&algorithm, &data)?;
        Ok(within(hash, &self.input(call, 0)?, &self.input(call, 2)?))
    }

    fn checksum(
        &mut self,
        call: &Call<'_>,
        id: ExternId,
        method: &str,
    ) -> Result<Option<Value>, Stop> {
        let ExternState::Checksum { algorithm } = self.extern_state(id)? else {
            return Err(damaged("checksum"));
        };
        let algorithm = algorithm.clone();
        if self.state.follows_psa_switch {
            return self.checksum_of_psa_switch(call, id, method, &algorithm);
        }
        let start = ChecksumState::Data { bytes: Vec::new(), used: 8 };
        let state = self.state.checksums.remove(&id).unwrap_or_else(|| start.clone());
        let ChecksumState::Data { mut bytes, mut used } = state else {
            return Err(damaged("checksum"));
        };
        let mut result = None;
        match method {
            "clear" => (bytes, used) = (Vec::new(), 8),
            "update" => {
                if let Some(Argument::In(expression)) = call.arguments.first() {
                    self.append_data(expression, &mut bytes, &mut used)?;
                }
            }
            _ => {
                let hash = self.hash(&algorithm, &bytes)?;
                result = Some(Value::Bits(Bits::unsigned(64, u128::from(hash))));
            }
        }
        self.state.checksums.insert(id, ChecksumState::Data { bytes, used });
        Ok(result)
    }

    /// See [`crate::Switch::follow_psa_switch`].
    fn checksum_of_psa_switch(
        &mut self,
        call: &Call<'_>,
        id: ExternId,
        method: &str,
        algorithm: &str,
    ) -> Result<Option<Value>, Stop> {
        match method {
            "clear" => {
                self.state.checksums.remove(&id);
            }
            "update" => {
                let data = self.input_data_to_the_right(call, 0)?;
                let first = data.iter().position(|byte| *byte != 0).unwrap_or(data.len());
                let bytes = data.get(first..).unwrap_or_default().to_vec();
                self.state.checksums.insert(id, ChecksumState::Data { bytes, used: 8 });
            }
            _ => {
                let has_it = ["crc16", "crc16_custom", "crc32", "crc32_custom", "identity"];
                let has_it = has_it.iter().any(|name| algorithm.eq_ignore_ascii_case(name));
                let hash = match self.state.checksums.get(&id) {
                    Some(ChecksumState::Data { bytes, .. }) if has_it => {
                        let bytes = bytes.clone();
                        self.hash(algorithm, &bytes)?
                    }
                    _ => 0,
                };
                return Ok(Some(Value::Bits(Bits::unsigned(64, u128::from(hash)))));
            }
        }
        Ok(None)
    }

    /// Incremental checksums (RFC 1624; PSA specification, section 7.8).
    fn internet_checksum(
        &mut self,
        call: &Call<'_>,
        id: ExternId,
        method: &str,
    ) -> Result<Option<Value>, Stop> {
        let sum = match self.state.checksums.get(&id) {
            Some(ChecksumState::Sum(sum)) => *sum,
            _ => 0,
        };
        let word = |word: u16| Some(Value::Bits(Bits::unsigned(16, u128::from(word))));
        let sum = match method {
            "clear" => 0,
            "add" => ones_complement_sum(sum, &self.input_data(call, 0)?),
            "subtract" => {
                let data = self.input_data(call, 0)?;
                // psa_switch stops at the words that are left when all that is left is zero
                // (`psa_internet_checksum.cpp`), and a zero that is not taken out of zero stays zero.
                let words = data.len() / 2;
                let zero = data.chunks_exact(2).take_while(|word| *word == [0, 0]).count();
                let skipped = if self.state.follows_psa_switch { zero.min(words) } else { 0 };
                ones_complement_difference(sum, data.get(2 * skipped..).unwrap_or_default())
            }
            "set_state" => self.input_number(call, 0)? as u16,
            "get_state" => return Ok(word(sum)),
            _ => return Ok(word(!sum)),
        };
        self.state.checksums.insert(id, ChecksumState::Sum(sum));
        Ok(None)
    }

    /// Inline accelerators (PNA specification, section 6.2; DPDK's `ipsec_accelerator`). Nothing is encrypted
    /// or decrypted here: a packet passes one as it is, which the trace tells, and when it comes back by
    /// recirculation, the result is an error.
    fn accelerator(&mut self, call: &Call<'_>, method: &str) -> Result<Option<Value>, Stop> {
        let came_back = self.from_accelerator;
        match method {
            "enable" | "enable_encrypt" | "enable_decrypt" => self.effects.accelerator = true,
            "disable" => self.effects.accelerator = false,
            "from_ipsec" => {
                let status = u128::from(came_back);
                self.output(call, 0, Value::Bits(Bits::unsigned(32, status)))?;
                return Ok(Some(Value::Bool(came_back)));
            }
            "get_results" => {
                let result = if came_back { "HW_ERROR" } else { "SUCCESS" };
                let member = self.layout.enum_position("crypto_results_e", result).unwrap_or(0);
                return Ok(Some(Value::Enum(member)));
            }
            _ => {}
        }
        Ok(None)
    }

    fn random(&mut self, id: ExternId) -> Result<Value, Stop> {
        let ExternState::Random { least, most } = self.extern_state(id)? else {
            return Err(damaged("random number"));
        };
        let number = |value: &Value| value.to_pattern().and_then(|bits| bits.to_u64());
        let (least, most) = (number(least).unwrap_or(0), number(most).unwrap_or(u64::MAX));
        let number = self.state.random_number(least, most);
        Ok(Value::Bits(Bits::unsigned(64, u128::from(number))))
    }
}

/// v1model's colours: 0 green, 1 yellow, 2 red.
fn color_number(color: Color) -> Value {
    Value::Bits(Bits::unsigned(8, color as u128))
}
