//! Flow tables: their ids, counters and configuration (specification 1.3.5, sections 7.3.3 and
//! 7.3.5.4).

use crate::cursor::Reader;
use crate::error::{DecodeError, EncodeError};
use crate::structure::Field;

open_enum! {
    /// A flow table's id, `ofp_table`.
    pub TableId: u8 {
        /// The largest id that a table can have.
        MAX = 0xfe,
        /// All tables, in requests that may concern all of them.
        ALL = 0xff,
    }
}

impl Field for Vec<TableId> {
    fn read(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        Ok(reader.rest().iter().copied().map(TableId).collect())
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.extend(self.iter().map(|table| table.0));
        Ok(())
    }
}

structure! {
    /// A message that changes the configuration of a table, `ofp_table_mod`. OpenFlow 1.3 defines
    /// no configuration that it could change, but kept the message.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct TableMod = "ofp_table_mod" {
        /// The table to change, or [`TableId::ALL`] for all tables.
        pub table_id: TableId; pad 3,
        /// Configuration bits that only earlier versions of OpenFlow defined.
        pub config: u32,
    }
}

structure! {
    /// A table's counters, `ofp_table_stats`, 24 bytes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct TableStats = "ofp_table_stats" {
        /// The table that has the counters.
        pub table_id: TableId; pad 3,
        /// The number of entries that the table holds.
        pub active_count: u32,
        /// The number of packets that were looked up in the table.
        pub lookup_count: u64,
        /// The number of packets that matched an entry of the table.
        pub matched_count: u64,
    }
}
