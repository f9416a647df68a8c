//! The operations that a journal needs of a file system.

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};

/// A file system.
pub trait Storage: Debug {
    /// An open file.
    type File: StoredFile;

    /// Returns the path of a file with all links resolved. The file itself need not exist.
    ///
    /// # Errors
    ///
    /// If the directory does not exist, or the path is that of something other than a regular file.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf>;

    /// Opens a file for reading and writing, and creates it if there is none.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    fn open(&self, path: &Path) -> io::Result<Self::File>;

    /// Creates a file for reading and writing.
    ///
    /// # Errors
    ///
    /// If something has this path already, or the system refuses.
    fn create_new(&self, path: &Path) -> io::Result<Self::File>;

    /// Returns which file has this path.
    ///
    /// # Errors
    ///
    /// If there is none.
    fn identity(&self, path: &Path) -> io::Result<FileId>;

    /// Renames a file. A file that has the new path is replaced.
    ///
    /// # Errors
    ///
    /// If the system refuses; both files then keep their paths.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Returns the names of the files in the directory of this path.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    fn siblings(&self, path: &Path) -> io::Result<Vec<PathBuf>>;

    /// Waits until the directory of this path is on the medium.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    fn sync_directory(&self, of: &Path) -> io::Result<()>;

    /// Returns a number that differs from call to call and from process to process.
    fn random(&self) -> u64;
}

/// An open file of a [`Storage`].
pub trait StoredFile: Debug + Send + Sized {
    /// Locks the file against other owners until its last handle is closed.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::WouldBlock`] if it has another owner.
    fn try_lock(&self) -> io::Result<()>;

    /// Returns which file this is.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    fn identity(&self) -> io::Result<FileId>;

    /// Returns the length in bytes.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    fn length(&self) -> io::Result<u64>;

    /// Reads into the buffer and returns the number of bytes, 0 at the end of the file.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Writes at most all of the bytes, and returns the number of those written.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize>;

    /// Cuts the file off, or fills it up with zeros.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    fn set_length(&self, length: u64) -> io::Result<()>;

    /// Waits until content and length are on the medium.
    ///
    /// # Errors
    ///
    /// If the system refuses. What was written before may then be lost, whatever a later call says.
    fn sync(&self) -> io::Result<()>;

    /// Returns another handle of the same file.
    ///
    /// # Errors
    ///
    /// If the system has no more handles.
    fn handle(&self) -> io::Result<Self>;
}

/// The identity of a file, which stays when its path changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    /// The file system.
    pub device: u64,
    /// The file's number in it.
    pub inode: u64,
}

/// Fills the buffer as far as the file reaches, and returns the number of bytes.
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

/// Writes all of the bytes.
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
