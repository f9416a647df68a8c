//! The methods of extern instances, as the interpreter implements them.

use super::Call;
use super::calls::within;
use crate::dialect::Dialect;
use crate::error::RunError;
use crate::externs::meter::Color;
use crate::externs::{ChecksumState, ExternState};
use crate::interpreter::trial::MeterOwner;
use crate::interpreter::{Interpreter, Lookup, Stop, internal};
use crate::state::Digest;
use crate::table::{Directs, Stored, TableState, counter_in, meter_in};
use crate::value::Value;
use ir::bits::Bits;
use ir::hash::{Algorithm, ones_complement_difference, ones_complement_sum};
use ir::{Argument, ExternId, ExternMethod, ExternType, Table};
use std::sync::Arc;

/// Returns whether the interpreter implements this method of an extern type.
pub(super) fn known(extern_type: &ExternType, method: &ExternMethod) -> bool {
    use ExternMethod as Method;
    use ExternType as Of;
    matches!(
        (extern_type, method),
        (Of::V1Counter | Of::Counter | Of::V1DirectCounter | Of::DirectCounter, Method::Count)
            | (Of::CounterArray, Method::Increment | Method::Add)
            | (Of::V1Register | Of::Register, Method::Read | Method::Write)
            | (Of::V1Meter, Method::ExecuteMeter)
            | (Of::V1DirectMeter, Method::Read)
            | (Of::Meter | Of::DirectMeter, Method::Execute | Method::DpdkExecute)
            | (Of::Hash, Method::GetHash)
            | (Of::Checksum, Method::Clear | Method::Update | Method::Get)
            | (Of::V1Checksum16, Method::Get)
            | (
                Of::InternetChecksum,
                Method::Clear
                    | Method::Add
                    | Method::Subtract
                    | Method::Get
                    | Method::GetState
                    | Method::SetState
            )
            | (Of::Random, Method::Read)
            | (Of::Digest, Method::Pack)
            | (Of::IpsecAccelerator | Of::CryptoAccelerator | Of::TcSkbMetadata, _)
    )
}

impl<'p> Interpreter<'p> {
    pub(super) fn call_method(
        &mut self,
        call: &Call<'_>,
        id: ExternId,
        method: &ExternMethod,
    ) -> Result<Option<Value>, Stop> {
        use ExternMethod as Method;
        use ExternType as Of;
        let instance = self.layout.program.externs.get(id.index());
        let instance = instance.ok_or_else(|| internal("extern instance"))?;
        match (&instance.extern_type, method) {
            (Of::V1Counter | Of::Counter, Method::Count) => self.count(call, id).map(|()| None),
            (Of::CounterArray, _) => self.count_in_array(call, id, method).map(|()| None),
            (Of::V1DirectCounter | Of::DirectCounter, Method::Count) => {
                self.count_direct(call, id).map(|()| None)
            }
            (Of::V1Register, Method::Read) => {
                let index = self.input_number(call, 1)?;
                if let Some(value) = self.register(id, index)? {
                    self.output(call, 0, value)?;
                }
                Ok(None)
            }
            (Of::Register, Method::Read) => {
                let index = self.input_number(call, 0)?;
                self.register(id, index)
            }
            (Of::V1Register | Of::Register, Method::Write) => {
                self.write_register(call, id).map(|()| None)
            }
            (Of::V1Meter, Method::ExecuteMeter) => {
                let index = self.input_number(call, 0)?;
                if let Some(color) =
                    self.execute_meter(id, index, Color::Green, self.received_length)?
                {
                    self.output(call, 1, color_number(color))?;
                }
                Ok(None)
            }
            (Of::V1DirectMeter, Method::Read) => {
                if let Some(color) = self.execute_direct(id, Color::Green, self.received_length)? {
                    self.output(call, 0, color_number(color))?;
                }
                Ok(None)
            }
            (Of::Meter, _) => {
                let index = self.input_number(call, 0)?;
                let (before, length) = self.color_and_length(call, 1, method)?;
                let color = self.execute_meter(id, index, before, length)?.unwrap_or(before);
                Ok(Some(self.color_member(color)))
            }
            (Of::DirectMeter, _) => {
                let (before, length) = self.color_and_length(call, 0, method)?;
                let color = self.execute_direct(id, before, length)?;
                if self.layout.dialect == Dialect::PsaSwitch {
                    // In psa_switch the result is BMv2's number, and there is none without a hit
                    // (`MatchTableAbstract::apply_action`).
                    return Ok(color.map(|color| Value::Enum(color as u32)));
                }
                Ok(Some(self.color_member(color.unwrap_or(before))))
            }
            (Of::Hash, Method::GetHash) => self.get_hash(call, id).map(Some),
            (Of::V1Checksum16, Method::Get) => {
                let data = self.input_data(call, 0)?;
                let hash = self.hash(&Algorithm::OnesComplement16, &data)?;
                Ok(Some(Value::Bits(Bits::unsigned(64, u128::from(hash)))))
            }
            (Of::Checksum, _) => self.checksum(call, id, method),
            (Of::InternetChecksum, _) => self.internet_checksum(call, id, method),
            (Of::Random, Method::Read) => self.random(id).map(Some),
            (Of::IpsecAccelerator | Of::CryptoAccelerator, _) => self.accelerator(call, method),
            // There is no kernel: its metadata read as zero, and writing them has no effect.
            (Of::TcSkbMetadata, _) if call.result.is_some() => {
                Ok(Some(Value::Bits(Bits::zero(64, false))))
            }
            (Of::TcSkbMetadata, _) => Ok(None),
            (Of::Digest, Method::Pack) => {
                let type_id = match call.arguments.first() {
                    Some(Argument::In(expression)) => expression.type_id,
                    _ => return Err(internal("argument of an extern")),
                };
                let value = self.input(call, 0)?;
                let digest = Digest { instance: Some(id), receiver: None, type_id, value };
                self.scratch.digests.push(digest);
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
            return Err(internal("counter"));
        };
        if !self.is_tried() {
            counters.count(index, bytes);
        }
        Ok(())
    }

    /// Returns the number of bytes that a call of `count` adds: the argument in DPDK's form, and
    /// otherwise the packet's length.
    fn counted_bytes(&self, call: &Call<'_>, position: usize) -> Result<u64, Stop> {
        match call.arguments.get(position) {
            None | Some(Argument::Absent) => Ok(self.received_length),
            Some(_) => self.input_number(call, position),
        }
    }

    /// Runs `count` of a direct counter. Has no effect in BMv2's dialects, which count every hit
    /// before the action.
    fn count_direct(&mut self, call: &Call<'_>, id: ExternId) -> Result<(), Stop> {
        if self.layout.dialect.is_bmv2() {
            return Ok(());
        }
        let bytes = self.counted_bytes(call, 0)?;
        self.count_for_entry(id, bytes);
        Ok(())
    }

    /// Counts the packet in a direct counter of the entry whose action runs, if there is one.
    pub(crate) fn count_for_entry(&self, id: ExternId, bytes: u64) {
        if !self.is_tried()
            && let Some(place) = self.entry_of(id)
        {
            place.with_directs(|directs| {
                if let Some(counter) = counter_in(directs, id) {
                    counter.count(bytes);
                }
            });
        }
    }

    /// Returns the entry whose action runs in the table of a direct counter or meter. In BMv2, the
    /// default entry has no counters and meters.
    fn entry_of(&self, id: ExternId) -> Option<Owner<'p>> {
        let table = self.layout.program.externs.get(id.index())?.table?;
        let lookup = self.lookups().iter().rev().find(|lookup| lookup.table == table)?;
        match &lookup.entry {
            Some(entry) => Some(Owner::Entry(Arc::clone(entry))),
            None if self.layout.dialect.is_bmv2() => None,
            None => self.state.tables.get(table.index()).map(Owner::Default),
        }
    }

    fn register(&mut self, id: ExternId, index: u64) -> Result<Option<Value>, Stop> {
        let ExternState::Register(registers) = self.extern_state(id)? else {
            return Err(internal("register"));
        };
        if index >= registers.size {
            return Ok(None);
        }
        let value = self.tried_register(id, index).or_else(|| registers.cells.get(index));
        Ok(Some(value.unwrap_or_else(|| registers.initial.clone())))
    }

    fn write_register(&mut self, call: &Call<'_>, id: ExternId) -> Result<(), Stop> {
        let index = self.input_number(call, 0)?;
        let value = self.input(call, 1)?;
        let ExternState::Register(registers) = self.extern_state(id)? else {
            return Err(internal("register"));
        };
        if index < registers.size {
            self.set_register((id, registers), index, value);
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
            return Err(internal("meter"));
        };
        if self.is_tried() {
            if index >= meters.size {
                return Ok(None);
            }
            let owner = (id, MeterOwner::Index(index));
            let packet = (meters.size_of(length), before);
            let color = self.try_meter(owner, || meters.cells.get(index), packet).flatten();
            return Ok(Some(color.unwrap_or(before)));
        }
        Ok(meters.execute(index, (length, before), now))
    }

    /// Meters the packet with the direct meters of the entry that was hit, and stores the colours
    /// where the program reads them. As in BMv2, this is done before the action
    /// (`match_tables.cpp`, `apply_action`), whether or not the action reads them.
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

    /// Meters the packet with a direct meter of the entry that was hit. Returns the colour, or
    /// `None` if there is no entry. In BMv2's dialects a meter runs only once per lookup, and later
    /// calls return the recorded colour.
    pub(crate) fn execute_direct(
        &mut self,
        id: ExternId,
        before: Color,
        length: u64,
    ) -> Result<Option<Color>, Stop> {
        let now = self.now;
        let ExternState::DirectMeter { counts_packets } = *self.extern_state(id)? else {
            return Err(internal("direct meter"));
        };
        let Some(owner) = self.entry_of(id) else { return Ok(None) };
        let size = if counts_packets { 1 } else { length };
        let execute = |interpreter: &mut Self| {
            let current = || owner.with_directs(|directs| meter_in(directs, id).map(|one| *one));
            if let Some(tried) =
                interpreter.try_meter((id, owner.of_meter()), current, (size, before))
            {
                return tried;
            }
            owner.with_directs(|directs| {
                meter_in(directs, id).map(|mut meter| meter.execute(size, before, now))
            })
        };
        if !self.layout.dialect.is_bmv2() {
            return Ok(execute(self));
        }
        let of_entry = |lookup: &Lookup| lookup.entry.as_ref().is_some_and(|entry| owner.is(entry));
        let position = self.lookups().iter().rposition(of_entry);
        let lookup = position.and_then(|position| self.lookups().get(position));
        let known = lookup.and_then(|lookup| lookup.colors.iter().find(|(meter, _)| *meter == id));
        if let Some((_, color)) = known {
            return Ok(Some(*color));
        }
        let Some(color) = execute(self) else { return Ok(None) };
        if let Some(lookup) = position.and_then(|position| self.scratch.lookups.get_mut(position)) {
            lookup.colors.push((id, color));
        }
        Ok(Some(color))
    }

    /// Returns the colour and the length in the arguments of a meter's `execute(colour)` or, for
    /// DPDK, `dpdk_execute(colour, length)`. These arguments begin at position `first`. Both calls
    /// may omit the colour.
    fn color_and_length(
        &self,
        call: &Call<'_>,
        first: usize,
        method: &ExternMethod,
    ) -> Result<(Color, u64), Stop> {
        let given = call.arguments.len();
        if *method != ExternMethod::DpdkExecute {
            return Ok((self.color_before(call, first)?, self.received_length));
        }
        let with_color = given > first + 1;
        let color = if with_color { self.color_before(call, first)? } else { Color::Green };
        Ok((color, self.input_number(call, given.saturating_sub(1))?))
    }

    /// Returns the colour that the packet had before a meter, which an argument holds. It is green
    /// if the argument is missing.
    fn color_before(&self, call: &Call<'_>, position: usize) -> Result<Color, Stop> {
        match call.arguments.get(position) {
            None | Some(Argument::Absent) => Ok(Color::Green),
            Some(_) => Ok(self.input_member(call, position)?.color),
        }
    }

    fn color_member(&self, color: Color) -> Value {
        Value::Enum(self.layout.names.color(color))
    }

    fn get_hash(&mut self, call: &Call<'_>, id: ExternId) -> Result<Value, Stop> {
        let ExternState::Hash { algorithm } = self.extern_state(id)? else {
            return Err(internal("hash"));
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
        method: &ExternMethod,
    ) -> Result<Option<Value>, Stop> {
        let ExternState::Checksum { algorithm } = self.extern_state(id)? else {
            return Err(internal("checksum"));
        };
        let algorithm = algorithm.clone();
        if self.layout.dialect == Dialect::PsaSwitch {
            return self.checksum_of_psa_switch(call, id, method, &algorithm);
        }
        let start = ChecksumState::Data { bytes: Vec::new(), used: 8 };
        let state = self.scratch.checksums.remove(&id).unwrap_or_else(|| start.clone());
        let ChecksumState::Data { mut bytes, mut used } = state else {
            return Err(internal("checksum"));
        };
        let mut result = None;
        match method {
            ExternMethod::Clear => (bytes, used) = (Vec::new(), 8),
            ExternMethod::Update => {
                if let Some(Argument::In(expression)) = call.arguments.first() {
                    self.append_data(expression, &mut bytes, &mut used)?;
                }
            }
            _ => {
                let hash = self.hash(&algorithm, &bytes)?;
                result = Some(Value::Bits(Bits::unsigned(64, u128::from(hash))));
            }
        }
        self.scratch.checksums.insert(id, ChecksumState::Data { bytes, used });
        Ok(result)
    }

    /// Runs a method of a checksum unit as psa_switch does; see
    /// [`crate::Switch::follow_psa_switch`].
    fn checksum_of_psa_switch(
        &mut self,
        call: &Call<'_>,
        id: ExternId,
        method: &ExternMethod,
        algorithm: &Algorithm,
    ) -> Result<Option<Value>, Stop> {
        match method {
            ExternMethod::Clear => {
                self.scratch.checksums.remove(&id);
            }
            ExternMethod::Update => {
                let data = self.input_data_to_the_right(call, 0)?;
                let first = data.iter().position(|byte| *byte != 0).unwrap_or(data.len());
                let bytes = data.get(first..).unwrap_or_default().to_vec();
                self.scratch.checksums.insert(id, ChecksumState::Data { bytes, used: 8 });
            }
            _ => {
                let has_it = matches!(
                    algorithm,
                    Algorithm::Crc16
                        | Algorithm::Crc16Custom
                        | Algorithm::Crc32
                        | Algorithm::Crc32Custom
                        | Algorithm::Identity
                );
                let hash = match self.scratch.checksums.get(&id) {
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

    /// Runs a method of an `InternetChecksum` (RFC 1624; PSA specification, section 7.6.2).
    fn internet_checksum(
        &mut self,
        call: &Call<'_>,
        id: ExternId,
        method: &ExternMethod,
    ) -> Result<Option<Value>, Stop> {
        let sum = match self.scratch.checksums.get(&id) {
            Some(ChecksumState::Sum(sum)) => *sum,
            _ => 0,
        };
        let word = |word: u16| Some(Value::Bits(Bits::unsigned(16, u128::from(word))));
        let sum = match method {
            ExternMethod::Clear => 0,
            ExternMethod::Add => ones_complement_sum(sum, &self.input_data(call, 0)?),
            ExternMethod::Subtract => {
                let data = self.input_data(call, 0)?;
                // psa_switch stops when all remaining words are zero (`psa_internet_checksum.cpp`),
                // so leading zeros are not subtracted, and a sum of zero stays zero.
                let words = data.len() / 2;
                let zero = data.chunks_exact(2).take_while(|word| *word == [0, 0]).count();
                let skipped =
                    if self.layout.dialect == Dialect::PsaSwitch { zero.min(words) } else { 0 };
                ones_complement_difference(sum, data.get(2 * skipped..).unwrap_or_default())
            }
            ExternMethod::SetState => self.input_number(call, 0)? as u16,
            ExternMethod::GetState => return Ok(word(sum)),
            _ => return Ok(word(!sum)),
        };
        self.scratch.checksums.insert(id, ChecksumState::Sum(sum));
        Ok(None)
    }

    /// Runs a method of an inline accelerator (PNA specification, section 6.2; DPDK's
    /// `ipsec_accelerator`). Nothing is encrypted or decrypted: the packet passes the accelerator
    /// unchanged, which the trace records. When it returns by recirculation, the program reads an
    /// error as the result.
    fn accelerator(
        &mut self,
        call: &Call<'_>,
        method: &ExternMethod,
    ) -> Result<Option<Value>, Stop> {
        let came_back = self.from_accelerator;
        match method {
            ExternMethod::Enable | ExternMethod::EnableEncrypt | ExternMethod::EnableDecrypt => {
                self.effects.accelerator = true;
            }
            ExternMethod::Disable => self.effects.accelerator = false,
            ExternMethod::FromIpsec => {
                let status = u128::from(came_back);
                self.output(call, 0, Value::Bits(Bits::unsigned(32, status)))?;
                return Ok(Some(Value::Bool(came_back)));
            }
            ExternMethod::GetResults => {
                return Ok(Some(Value::Enum(self.layout.names.crypto_result(!came_back))));
            }
            _ => {}
        }
        Ok(None)
    }

    fn random(&mut self, id: ExternId) -> Result<Value, Stop> {
        let ExternState::Random { least, most } = self.extern_state(id)? else {
            return Err(internal("random number"));
        };
        let number = |value: &Value| value.to_pattern().and_then(|bits| bits.to_u64());
        let (least, most) = (number(least).unwrap_or(0), number(most).unwrap_or(u64::MAX));
        let number = self.random_number(least, most);
        Ok(Value::Bits(Bits::unsigned(64, u128::from(number))))
    }
}

/// The entry whose direct counters and meters a packet uses, or the default entry of a table.
enum Owner<'p> {
    Entry(Arc<Stored>),
    Default(&'p TableState),
}

impl Owner<'_> {
    fn with_directs<R>(&self, use_them: impl FnOnce(&mut Directs) -> R) -> R {
        match self {
            Self::Entry(entry) => use_them(&mut entry.state().directs),
            Self::Default(table) => use_them(&mut table.default().directs),
        }
    }

    fn of_meter(&self) -> MeterOwner {
        match self {
            Self::Entry(entry) => MeterOwner::Entry(Arc::as_ptr(entry).addr()),
            Self::Default(_) => MeterOwner::Default,
        }
    }

    fn is(&self, other: &Arc<Stored>) -> bool {
        matches!(self, Self::Entry(entry) if Arc::ptr_eq(entry, other))
    }
}

/// Returns v1model's number of a colour: 0 for green, 1 for yellow, 2 for red.
fn color_number(color: Color) -> Value {
    Value::Bits(Bits::unsigned(8, color as u128))
}
