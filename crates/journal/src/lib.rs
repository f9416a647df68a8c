//! A file of records that survives crashes, and that never reads past damage.
//!
//! A [`Journal`] is a list of records in one file. A record has a kind and a body, which mean
//! something to the owner alone. The journal promises the following.
//!
//! * **A record that was appended is read again** after the process ends in any way. After a loss
//!   of power this holds for records up to the last [`Journal::sync`]. A record that could not be
//!   appended is not in the file.
//! * **Damage is found.** Each record carries the checksum of its body and of its head, its
//!   sequence number, and a checksum over all heads before it (the chain). A bit that flipped, and
//!   a record that was removed or exchanged, end in [`OpenError::Damaged`]. The file then stays
//!   as it is, and [`repair`] copies what is intact into another file.
//! * **An interrupted write is no damage.** Only a record that was never synced can be incomplete
//!   after a crash. Its bytes are moved to a file of their own.
//! * **A newer file is recognized.** A record of an unknown kind ends in [`OpenError::Newer`],
//!   a file in an unknown form in [`OpenError::NewerForm`].
//! * **A file has one owner.** It is locked, also while [`Journal::replace`] puts a shorter list in
//!   its place.
//!
//! Files are reached through [`Storage`], so that tests put a simulated disk in its place.

mod disk;
mod error;
mod files;
mod format;
mod journal;
mod list;
mod repair;
mod scan;
#[cfg(test)]
mod simulated;
mod storage;
#[cfg(test)]
mod tests;

pub use crate::disk::Disk;
pub use crate::error::{AppendError, OpenError, Unreadable};
pub use crate::format::{Kind, Sequence};
pub use crate::journal::{Journal, SyncJob, Torn};
pub use crate::repair::{Gap, RepairError, RepairReport, repair};
pub use crate::scan::Record;
pub use crate::storage::{FileId, Storage, StoredFile};
