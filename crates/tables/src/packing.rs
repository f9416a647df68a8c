//! Packs the fields of a key into a string of bits without padding, for the trie of prefixes. Exact
//! fields come first, then the field with the prefix. The keys of entries and the keys of packets
//! are packed in the same way.

use crate::match_key::{MatchField, MatchKind};

/// The order in which the bits of a key's fields are packed for a trie.
pub(crate) struct Packing {
    /// The fields in the order in which they are packed.
    fields: Vec<Source>,
    /// The number of bits that the exact fields take in a packed key, before the field with a
    /// prefix.
    exact_bits: u32,
    bits: u32,
    /// Whether a packed key has the same bits as the key, so that packing changes nothing.
    plain: bool,
}

struct Source {
    at: usize,
    bits: u32,
}

/// A packed key, whose first bit is the most significant one.
pub(crate) enum Packed {
    /// A key of up to 64 bits.
    Short(u64),
    /// A key of 65 to 128 bits.
    Medium(u128),
    /// A key of more than 128 bits, in words.
    Long(Vec<u64>),
}

impl Packing {
    /// Returns the packing for fields, at most one of which has a prefix.
    pub(crate) fn new(fields: &[MatchField]) -> Self {
        let mut at = 0;
        let mut sources: Vec<(bool, Source)> = Vec::new();
        for field in fields {
            sources.push((field.kind == MatchKind::Lpm, Source { at, bits: field.bits }));
            at += field.bytes();
        }
        let in_order = sources.is_sorted_by_key(|(is_prefix, _)| *is_prefix);
        // The sort is stable, so exact fields stay in order.
        sources.sort_by_key(|(is_prefix, _)| *is_prefix);
        let exact = sources.iter().filter(|(is_prefix, _)| !is_prefix);
        Self {
            exact_bits: exact.map(|(_, source)| source.bits).sum(),
            bits: fields.iter().map(|field| field.bits).sum(),
            plain: in_order && fields.iter().all(|field| field.bits.is_multiple_of(8)),
            fields: sources.into_iter().map(|(_, source)| source).collect(),
        }
    }

    /// Returns the number of bits of a packed key.
    pub(crate) fn bits(&self) -> u32 {
        self.bits
    }

    /// Returns the number of words of a packed key.
    pub(crate) fn words(&self) -> usize {
        self.bits.div_ceil(64) as usize
    }

    /// Returns the number of leading bits in which a packed key must equal the packed key of an
    /// entry, if the entry has a prefix of `prefix` bits.
    pub(crate) fn prefix_bits(&self, prefix: u32) -> u32 {
        self.exact_bits + prefix
    }

    pub(crate) fn pack(&self, key: &[u8]) -> Packed {
        match self.bits {
            ..=64 => {
                let mut keys = Vec::new();
                self.pack_short(key, key.len(), &mut keys);
                Packed::Short(keys.first().copied().unwrap_or(0))
            }
            65..=128 => Packed::Medium(self.pack_medium(key)),
            _ => Packed::Long(self.pack_long(key)),
        }
    }

    /// Packs several keys of up to 64 bits. The keys are contiguous and take `width` bytes each.
    #[inline]
    pub(crate) fn pack_short(&self, keys: &[u8], width: usize, packed: &mut Vec<u64>) {
        if self.plain && width == 4 {
            let (keys, _) = keys.as_chunks::<4>();
            packed.extend(keys.iter().map(|key| u64::from(u32::from_be_bytes(*key)) << 32));
            return;
        }
        packed.extend(keys.chunks_exact(width).map(|key| (self.pack_medium(key) >> 64) as u64));
    }

    /// Packs a key of up to 128 bits.
    #[inline]
    pub(crate) fn pack_medium(&self, key: &[u8]) -> u128 {
        if self.plain {
            if let Some(key) = key.first_chunk::<16>() {
                return u128::from_be_bytes(*key);
            }
            let mut bytes = [0; 16];
            bytes[..key.len()].copy_from_slice(key);
            return u128::from_be_bytes(bytes);
        }
        let mut packed = 0;
        for (byte, bits) in self.parts(key) {
            packed = packed << bits | u128::from(byte);
        }
        packed << (128 - self.bits)
    }

    /// Packs a key of any width into words. The last word is padded with zeros.
    fn pack_long(&self, key: &[u8]) -> Vec<u64> {
        let mut words = vec![0; self.words()];
        let mut at = 0;
        for (byte, bits) in self.parts(key) {
            // The bits of the byte lie in one word or in two neighbouring words.
            let aligned = u128::from(byte) << (128 - bits) >> (at % 64);
            let index = at as usize / 64;
            let halves = [(aligned >> 64) as u64, aligned as u64];
            for (word, half) in words.iter_mut().skip(index).zip(halves) {
                *word |= half;
            }
            at += bits;
        }
        words
    }

    /// Returns the bytes of a key in packed order. Each element is a byte and the number of its low
    /// bits that belong to the key.
    fn parts<'a>(&'a self, key: &'a [u8]) -> impl Iterator<Item = (u8, u32)> + 'a {
        self.fields.iter().flat_map(move |field| {
            let bytes = field.bits.div_ceil(8);
            let first = field.bits - 8 * (bytes - 1);
            (0..bytes).map(move |byte| {
                let bits = if byte == 0 { first } else { 8 };
                (key.get(field.at + byte as usize).copied().unwrap_or(0), bits)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(bits: u32, kind: MatchKind) -> MatchField {
        MatchField { bits, kind }
    }

    #[test]
    fn the_prefix_comes_last_and_padding_is_removed() {
        let packing = Packing::new(&[field(12, MatchKind::Lpm), field(4, MatchKind::Exact)]);
        assert_eq!((packing.bits(), packing.prefix_bits(3)), (16, 7));
        let Packed::Short(key) = packing.pack(&[0x0a, 0xbc, 0x05]) else {
            panic!("16 bits are short")
        };
        assert_eq!(key >> 48, 0x5abc);
    }

    #[test]
    fn keys_of_all_widths_are_packed_alike() {
        let wide = Packing::new(&[field(121, MatchKind::Exact), field(17, MatchKind::Lpm)]);
        let mut key = vec![0; 19];
        (key[0], key[15], key[18]) = (1, 0x80, 1);
        key[16] = 1;
        let Packed::Long(words) = wide.pack(&key) else { panic!("138 bits are long") };
        assert_eq!(words, [1 << 63, 1 << 14 | 1 << 6, 1 << 54], "121 bits, then 17");
        let narrow = Packing::new(&[field(128, MatchKind::Lpm)]);
        let Packed::Medium(key) = narrow.pack(&[7; 16]) else { panic!("128 bits are medium") };
        assert_eq!(key, u128::from_be_bytes([7; 16]));
    }
}
