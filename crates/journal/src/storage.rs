//! The file system operations that a journal needs.

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};

/// A file system in which journals are stored.
pub trait Storage: Debug {
    /// An open file.
    type File: StoredFile;

    /// Returns the path of a file with all symbolic links resolved. The file itself need not exist.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory does not exist, or the path denotes something other than a
    /// regular file.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf>;

    /// Opens a file for reading and writing, and creates it if it does not exist.
    ///
    /// # Errors
    ///
    /// Returns the error of the system.
    fn open(&self, path: &Path) -> io::Result<Self::File>;

    /// Creates a new file for reading and writing.
    ///
    /// # Errors
    ///
    /// Returns an error if the path exists, or the error of the system.
    fn create_new(&self, path: &Path) -> io::Result<Self::File>;

    /// Returns the identity of the file at this path.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such file.
    fn identity(&self, path: &Path) -> io::Result<FileId>;

    /// Renames a file. An existing file at the new path is replaced.
    ///
    /// # Errors
    ///
    /// Returns the error of the system. Both files then keep their paths.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    ///
    /// Returns the error of the system.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Returns the paths of all files in the directory that contains this path.
    ///
    /// # Errors
    ///
    /// Returns the error of the system.
    fn siblings(&self, path: &Path) -> io::Result<Vec<PathBuf>>;

    /// Waits until the directory that contains this path is on the storage medium.
    ///
    /// # Errors
    ///
    /// Returns the error of the system.
    fn sync_directory(&self, of: &Path) -> io::Result<()>;

    /// Returns a random number, which differs from call to call and from process to process.
    fn random(&self) -> u64;
}

/// An open file of a [`Storage`].
pub trait StoredFile: Debug + Send + Sized {
    /// Locks the file against other processes, until its last handle is closed.
    ///
    /// # Errors
    ///
    /// Returns [`io::ErrorKind::WouldBlock`] if another process has locked the file.
    fn try_lock(&self) -> io::Result<()>;

    /// Returns the identity of the file.
    ///
    /// # Errors
    ///
    /// Returns the error of the system.
    fn identity(&self) -> io::Result<FileId>;

    /// Returns the length of the file in bytes.
    ///
    /// # Errors
    ///
    /// Returns the error of the system.
    fn length(&self) -> io::Result<u64>;

    /// Reads bytes of the file at `offset` into the buffer. Returns the number of bytes read, or 0
    /// at the end of the file.
    ///
    /// # Errors
    ///
    /// Returns the error of the system.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Writes some or all of the bytes at `offset`, and returns the number of bytes written.
    ///
    /// # Errors
    ///
    /// Returns the error of the system.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize>;

    /// Truncates the file, or extends it with zeros.
    ///
    /// # Errors
    ///
    /// Returns the error of the system.
    fn set_length(&self, length: u64) -> io::Result<()>;

    /// Waits until the content and the length of the file are on the storage medium.
    ///
    /// # Errors
    ///
    /// Returns the error of the system. Earlier writes may then be lost, even if a later call
    /// succeeds.
    fn sync(&self) -> io::Result<()>;

    /// Returns another handle of this open file.
    ///
    /// # Errors
    ///
    /// Returns an error if the system has no more handles.
    fn handle(&self) -> io::Result<Self>;
}

/// The identity of a file, which does not depend on its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    /// The device of the file system.
    pub device: u64,
    /// The inode number of the file on the device.
    pub inode: u64,
}

/// Reads until the buffer is full or the file ends. Returns the number of bytes read.
pub(crate) fn read_full(
    file: &impl StoredFile,
    offset: u64,
    buffer: &mut [u8],
) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(offset + filled as u64, rest) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Writes all of the bytes at `offset`.
pub(crate) fn write_full(file: &impl StoredFile, offset: u64, bytes: &[u8]) -> io::Result<()> {
    let mut written = 0;
    while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
        match file.write_at(offset + written as u64, rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
