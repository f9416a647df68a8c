//! An append-only file of records that survives crashes and detects damage.
//!
//! A [`Journal`] is a list of records in one file. A record has a kind and a body, which only the
//! owner interprets. The journal makes the following guarantees.
//!
//! * **An appended record is read again** after the process ends in any way. After a loss of power,
//!   this holds for records up to the last [`Journal::sync`]. A record whose append failed is not
//!   in the file.
//! * **Damage is detected.** Each record carries checksums of its body and its head, its sequence
//!   number, and a checksum over all earlier heads (the chain). A flipped bit and a removed or
//!   exchanged record lead to [`OpenError::Damaged`]. The file is then left unchanged, and
//!   [`repair`] copies the intact records into another file.
//! * **An interrupted write is not damage.** Only an unsynced record can be incomplete after a
//!   crash. Its bytes are moved to a separate file.
//! * **A newer file is recognized.** A record of an unknown kind leads to [`OpenError::Newer`],
//!   and a file in an unknown form to [`OpenError::NewerForm`].
//! * **A file has one owner.** The file is locked, even while [`Journal::replace`] replaces it by a
//!   shorter list.
//!
//! All file operations go through [`Storage`], so that tests can use a simulated disk.

mod disk;
mod error;
mod files;
mod format;
mod journal;
mod list;
mod repair;
mod scan;
mod storage;

pub use crate::disk::Disk;
pub use crate::error::{AppendError, OpenError, Unreadable};
pub use crate::format::{Kind, Sequence};
pub use crate::journal::{Journal, SyncJob, Torn};
pub use crate::repair::{Gap, RepairError, RepairReport, repair};
pub use crate::scan::Record;
pub use crate::storage::{FileId, Storage, StoredFile};
