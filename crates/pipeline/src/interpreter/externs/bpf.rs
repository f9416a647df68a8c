//! The functions of ebpf_model.p4, ubpf_model.p4 and xdp_model.p4, and the methods of
//! `CounterArray`.

use super::Call;
use crate::externs::ExternState;
use crate::interpreter::{Interpreter, Stop, internal};
use crate::table::CounterValue;
use crate::value::Value;
use ir::bits::Bits;
use ir::hash::{ones_complement_difference, ones_complement_sum};
use ir::{ExternFunction, ExternId, ExternMethod};

impl Interpreter<'_> {
    /// Calls a function if it is one of BPF's and the program is for BPF. Returns its result, which
    /// is `Some(None)` for a function without a result. Returns `None` for any other function.
    pub(super) fn call_bpf(
        &mut self,
        call: &Call<'_>,
        function: &ExternFunction,
    ) -> Result<Option<Option<Value>>, Stop> {
        use ExternFunction as Of;
        if !self.layout.program.architecture.is_for_bpf() {
            return Ok(None);
        }
        let word = |sum: u16| Some(Some(Value::Bits(Bits::unsigned(16, u128::from(sum)))));
        Ok(match function {
            Of::MarkToDrop => {
                self.effects.dropped = true;
                Some(None)
            }
            Of::MarkToPass => {
                self.effects.dropped = false;
                Some(None)
            }
            Of::Hash => {
                let algorithm = self.input_member(call, 1)?.algorithm.clone();
                let data = self.input_data(call, 2)?;
                let hash = self.hash(&algorithm, &data)?;
                self.output(call, 0, Value::Bits(Bits::unsigned(64, u128::from(hash))))?;
                Some(None)
            }
            // The time is in nanoseconds since the switch started.
            Of::UbpfTimeGetNs | Of::BpfKtimeGetNs => {
                let width = if *function == Of::UbpfTimeGetNs { 48 } else { 32 };
                Some(Some(Value::Bits(Bits::unsigned(64, self.now.as_nanos()).cast(width, false))))
            }
            // The ring of events has no reader. Zero reports success.
            Of::BpfPerfEventOutput => Some(Some(Value::Bits(Bits::zero(32, false)))),
            Of::CsumReplace2 | Of::CsumReplace4 => {
                let checksum = self.input_number(call, 0)? as u16;
                let (old, new) = (self.input(call, 1)?, self.input(call, 2)?);
                word(replaced(checksum, &bytes(&old), &bytes(&new)))
            }
            Of::EbpfIpv4Checksum => {
                let (mut header, mut used) = (Vec::new(), 8);
                for position in 0..call.arguments.len() {
                    self.input(call, position)?.emit(&mut header, &mut used);
                }
                word(!ones_complement_sum(0, &header))
            }
            _ => None,
        })
    }

    /// Runs `increment` or `add` of a `CounterArray`. Its elements have 32 bits and wrap around. A
    /// dense array has all its elements from the start; a sparse one gets an element when it is
    /// first counted.
    pub(super) fn count_in_array(
        &mut self,
        call: &Call<'_>,
        id: ExternId,
        method: &ExternMethod,
    ) -> Result<(), Stop> {
        let index = self.input_number(call, 0)?;
        let value = match method {
            ExternMethod::Add => self.input_number(call, 1)?,
            _ => 1,
        };
        let ExternState::Counter(counters) = self.extern_state(id)? else {
            return Err(internal("counter"));
        };
        if index < counters.size && !self.is_tried() {
            counters.cells.update(index, |cell| {
                let counter: &mut CounterValue = cell.get_or_insert_default();
                counter.packets = counter.packets.wrapping_add(value) & u64::from(u32::MAX);
            });
        }
        Ok(())
    }
}

/// Returns the one's complement checksum of data after `old` was replaced by `new`. `checksum` is
/// the one before (RFC 1624, equation 3).
fn replaced(checksum: u16, old: &[u8], new: &[u8]) -> u16 {
    !ones_complement_sum(ones_complement_difference(!checksum, old), new)
}

fn bytes(value: &Value) -> Vec<u8> {
    let mut data = Vec::new();
    value.emit(&mut data, &mut 8);
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_follows_its_field() {
        // In RFC 1624, section 4, the field 0x5555 becomes 0x3285 under the checksum 0xdd2f.
        assert_eq!(replaced(0xdd2f, &[0x55, 0x55], &[0x32, 0x85]), 0x0000);
        let sum = |data: &[u8]| !ones_complement_sum(0, data);
        let (before, after) = ([1, 2, 3, 4, 5, 6], [1, 2, 0xc0, 0xa8, 0, 9]);
        assert_eq!(replaced(sum(&before), &before[2..], &after[2..]), sum(&after));
    }
}
