//! The functions of ebpf_model.p4, ubpf_model.p4 and xdp_model.p4, and the methods of
//! `CounterArray`.

use super::{Call, ExternState};
use crate::externs::hash::{Algorithm, ones_complement_difference, ones_complement_sum};
use crate::interpreter::{Interpreter, Stop, internal};
use crate::table::CounterValue;
use crate::value::Value;
use ir::bits::Bits;
use ir::{ExternFunction, ExternId, ExternMethod};

/// Whether the name belongs to BPF alone. Programs for other architectures may declare a function
/// of their own with this name.
pub(super) fn is_of_bpf(function: &ExternFunction) -> bool {
    use ExternFunction as Of;
    matches!(
        function,
        Of::BpfKtimeGetNs
            | Of::BpfPerfEventOutput
            | Of::CsumReplace2
            | Of::CsumReplace4
            | Of::EbpfIpv4Checksum
            | Of::MarkToPass
            | Of::UbpfTimeGetNs
    )
}

impl Interpreter<'_> {
    /// Calls the function if the program is for BPF and the function is one of BPF's, and returns
    /// its result.
    pub(super) fn call_bpf(
        &mut self,
        call: &Call<'_>,
        function: &ExternFunction,
    ) -> Result<Option<Option<Value>>, Stop> {
        use ExternFunction as Of;
        if !crate::architecture::bpf::is_for(&self.layout.program) {
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

    /// Runs `increment` and `add`, which count in 32 bits and wrap around. A dense array has all
    /// its elements from the start; a sparse one gets its elements when they are counted.
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
        if index < counters.size {
            counters.cells.update(index, |cell| {
                let counter: &mut CounterValue = cell.get_or_insert_default();
                counter.packets = counter.packets.wrapping_add(value) & u64::from(u32::MAX);
            });
        }
        Ok(())
    }
}

/// Returns a one's complement checksum after `old` has been replaced by `new` (RFC 1624, equation
/// 3).
fn replaced(checksum: u16, old: &[u8], new: &[u8]) -> u16 {
    !ones_complement_sum(ones_complement_difference(!checksum, old), new)
}

fn bytes(value: &Value) -> Vec<u8> {
    let mut data = Vec::new();
    value.emit(&mut data, &mut 8);
    data
}

impl Algorithm {
    /// Computes Jenkins' lookup3 (`hashlittle` with initial value 0, 2006), which uBPF calls
    /// `lookup3`.
    pub(super) fn lookup3(data: &[u8]) -> u32 {
        let start = 0xdead_beef_u32.wrapping_add(data.len() as u32);
        let mut state = [start; 3];
        let mut rest = data;
        while rest.len() > 12 {
            let (block, after) = rest.split_at(12);
            add_words(&mut state, block);
            state = mixed(state);
            rest = after;
        }
        if rest.is_empty() {
            return state[2];
        }
        add_words(&mut state, rest);
        finished(state)
    }
}

/// Adds up to twelve bytes, the least significant byte of each word first.
fn add_words(state: &mut [u32; 3], bytes: &[u8]) {
    for (position, byte) in bytes.iter().enumerate().take(12) {
        if let Some(word) = state.get_mut(position / 4) {
            *word = word.wrapping_add(u32::from(*byte) << (8 * (position % 4)));
        }
    }
}

fn mixed([mut a, mut b, mut c]: [u32; 3]) -> [u32; 3] {
    for turn in [[4, 6, 8], [16, 19, 4]] {
        a = a.wrapping_sub(c) ^ c.rotate_left(turn[0]);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(turn[1]);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(turn[2]);
        b = b.wrapping_add(a);
    }
    [a, b, c]
}

fn finished([mut a, mut b, mut c]: [u32; 3]) -> u32 {
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookup3_gives_what_its_author_says() {
        // The expected values are from the comments of driver5 in lookup3.c.
        assert_eq!(Algorithm::lookup3(b""), 0xdead_beef);
        assert_eq!(Algorithm::lookup3(b"Four score and seven years ago"), 0x1777_0551);
    }

    #[test]
    fn a_checksum_follows_its_field() {
        // In RFC 1624, section 4, the field 0x5555 becomes 0x3285 under the checksum 0xdd2f.
        assert_eq!(replaced(0xdd2f, &[0x55, 0x55], &[0x32, 0x85]), 0x0000);
        let sum = |data: &[u8]| !ones_complement_sum(0, data);
        let (before, after) = ([1, 2, 3, 4, 5, 6], [1, 2, 0xc0, 0xa8, 0, 9]);
        assert_eq!(replaced(sum(&before), &before[2..], &after[2..]), sum(&after));
    }
}
