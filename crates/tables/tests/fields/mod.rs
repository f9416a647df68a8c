//! Functions that the tests of tables with matched fields share.

use std::sync::Arc;

use tables::{
    Design, Finder, Hit, Keys, MatchField, MatchKind, PackedTable, TableSettings, TableWorker,
};

/// Returns an empty table with parameters of four bytes.
pub(crate) fn table(design: Design, fields: &[MatchField], size: usize) -> Arc<PackedTable> {
    let settings = TableSettings {
        design,
        keys: Keys::Fields { fields, size },
        parameter_bytes: 4,
        actions: 1,
        writing: 1,
        writes_words: true,
    };
    Arc::new(PackedTable::new(&Arc::default(), &settings).unwrap())
}

/// Returns whether entries have an explicit priority.
pub(crate) fn has_priorities(fields: &[MatchField]) -> bool {
    fields.iter().any(|field| !matches!(field.kind, MatchKind::Exact | MatchKind::Lpm))
}

/// Returns the key of a packet whose fields have these values, which are given most significant
/// byte first.
pub(crate) fn key(fields: &[MatchField], values: &[Vec<u8>]) -> [u64; 2] {
    let places = Finder::places(fields).expect("fields of at most 128 bits");
    let number = |value: &Vec<u8>| value.iter().fold(0, |sum, byte| sum << 8 | u128::from(*byte));
    let key =
        values.iter().zip(places).fold(0_u128, |key, (value, place)| key | number(value) << place);
    [key as u64, (key >> 64) as u64]
}

/// Returns the number in the entry that each key matches.
pub(crate) fn look_up(worker: &mut TableWorker, keys: &[[u64; 2]]) -> Vec<Option<u32>> {
    let mut seen = vec![None; keys.len()];
    worker.apply(keys, &mut |packet: usize, hit: &mut Hit<'_>| {
        seen[packet] = hit.parameters().first_chunk().map(|value| u32::from_le_bytes(*value));
    });
    seen
}
