//! P4Runtime (specification 1.5) and P4Info, for both ends of a connection.
//!
//! The crate is built in layers. Only the uppermost layer uses sockets and a clock:
//!
//! * [`proto`]: the messages and services, those of the crate [`protos`].
//! * [`status`]: errors as the protocol reports them.
//! * [`p4info`]: a P4Info, checked and indexed once and then shared by any number of switches.
//! * `conversion`: the checked conversion between messages and the entities of the crate
//!   [`entities`].
//! * [`store`]: the entities of a switch as messages, over any data plane. [`emulated`] is the data
//!   plane of a switch that processes no packets.
//! * [`arbitration`], [`packet_io`], [`session`]: the decision who may write, and the answers of a
//!   switch.
//! * `decoding`: the bound on a request's memory before it is decoded.
//! * [`server`], [`client`]: the two ends over gRPC.
//!
//! A controller becomes primary and reads the table entries:
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use p4runtime::arbitration::ElectionId;
//! use p4runtime::client::{Client, ClientOptions};
//! use p4runtime::proto::v1::{Entity, TableEntry, entity};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let mut client = Client::connect("127.0.0.1:9559", 1, &ClientOptions::default()).await?;
//! let patience = Duration::from_secs(5);
//! let (_sender, mut stream) = client.become_primary("", ElectionId(1), patience).await?;
//! // A table id of zero selects all tables.
//! let all = Entity { entity: Some(entity::Entity::TableEntry(TableEntry::default())) };
//! println!("{} entries", client.read(vec![all]).await?.len());
//! while let Some(message) = stream.next().await? {
//!     println!("{message:?}");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A P4Info becomes a schema, against which writes to a switch are checked:
//!
//! ```
//! use p4runtime::p4info::Schema;
//! use p4runtime::proto::config::{P4Info, Preamble, Table};
//!
//! let name = "ingress.routes".to_owned();
//! let preamble = Preamble { id: 0x0200_0001, name, ..Preamble::default() };
//! let table = Table { preamble: Some(preamble), size: 1024, ..Table::default() };
//! let schema = Schema::new(P4Info { tables: vec![table.clone()], ..P4Info::default() })?;
//! assert_eq!(schema.p4info().tables[0].size, 1024);
//! // Two tables with the same id are refused.
//! let tables = vec![table.clone(), table];
//! assert!(Schema::new(P4Info { tables, ..P4Info::default() }).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod arbitration;
pub mod client;
pub mod control;
mod conversion;
mod decoding;
pub mod emulated;
pub mod fingerprint;
pub mod gnmi;
pub mod p4info;
pub mod packet_io;
mod references;
pub mod server;
pub mod session;
pub mod status;
pub mod store;

pub use conversion::data::{data as read_data, message as data_message};
pub use conversion::{
    action_message, field_message, found as read_entity, idle_entry as read_idle_entry,
    message as entity_message,
};
pub use entities::value;
pub use protos as proto;

/// The path of the RPC whose messages can be written immediately, outside the connection's task.
const STREAM_CHANNEL: &str = "/p4.v1.P4Runtime/StreamChannel";
/// The path of the RPC that writes entities.
const WRITE: &str = "/p4.v1.P4Runtime/Write";
