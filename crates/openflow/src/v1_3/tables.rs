//! Flow tables: their ids, counters and configuration (specification 1.3.5, sections 7.3.3 and
//! 7.3.5.4).

use super::codec::{Wire, put_u32, put_u64};
use crate::cursor::{Reader, pad};
use crate::error::{DecodeError, EncodeError};

open_enum! {
    /// A flow table's id, `ofp_table`.
    pub TableId: u8 {
        /// The largest id that a table can have.
        MAX = 0xfe,
        /// All tables, where one may ask for or delete from all.
        ALL = 0xff,
    }
}

impl Wire for TableId {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.u8("table_id").map(Self)
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.push(self.0);
        Ok(())
    }
}

/// Changes how a table is configured, `ofp_table_mod`. In this version no configuration is left to
/// change, but the message remains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TableMod {
    /// The table, or [`TableId::ALL`].
    pub table_id: TableId,
    /// Bits that earlier versions defined.
    pub config: u32,
}

impl Wire for TableMod {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let table_id = TableId(reader.u8("ofp_table_mod.table_id")?);
        reader.skip(3, "ofp_table_mod.pad")?;
        Ok(Self { table_id, config: reader.u32("ofp_table_mod.config")? })
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.push(self.table_id.0);
        pad(out, 3);
        put_u32(out, self.config);
        Ok(())
    }
}

/// A table's counters, `ofp_table_stats`, 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TableStats {
    /// The table.
    pub table_id: TableId,
    /// Entries that it holds.
    pub active_count: u32,
    /// Packets looked up in it.
    pub lookup_count: u64,
    /// Packets that hit an entry.
    pub matched_count: u64,
}

impl Wire for TableStats {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let table_id = TableId(reader.u8("ofp_table_stats.table_id")?);
        reader.skip(3, "ofp_table_stats.pad")?;
        Ok(Self {
            table_id,
            active_count: reader.u32("ofp_table_stats.active_count")?,
            lookup_count: reader.u64("ofp_table_stats.lookup_count")?,
            matched_count: reader.u64("ofp_table_stats.matched_count")?,
        })
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.push(self.table_id.0);
        pad(out, 3);
        put_u32(out, self.active_count);
        put_u64(out, self.lookup_count);
        put_u64(out, self.matched_count);
        Ok(())
    }
}
