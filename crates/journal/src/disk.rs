//! Implements [`Storage`] on the file system of this machine.

use crate::storage::{FileId, Storage, StoredFile};
use rustix::fs::{FlockOperation, flock};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The file system of this machine as a [`Storage`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Storage for Disk {
    type File = File;

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
                Ok(directory(path).canonicalize()?.join(name))
            }
            Err(error) => Err(error),
            Ok(_) => {
                let path = path.canonicalize()?;
                if path.metadata()?.is_file() {
                    Ok(path)
                } else {
                    Err(io::Error::other("this is not a regular file"))
                }
            }
        }
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        // The call must not block if the path now refers to a pipe.
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
        options.read(true).write(true).create(true).truncate(false).open(path)
    }

    fn create_new(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create_new(true).open(path)
    }

    fn identity(&self, path: &Path) -> io::Result<FileId> {
        path.symlink_metadata().map(|found| FileId { device: found.dev(), inode: found.ino() })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn siblings(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        directory(path).read_dir()?.map(|entry| entry.map(|entry| entry.path())).collect()
    }

    fn sync_directory(&self, of: &Path) -> io::Result<()> {
        File::open(directory(of))?.sync_all()
    }

    fn random(&self) -> u64 {
        RandomState::new().hash_one(OsString::new())
    }
}

impl StoredFile for File {
    fn try_lock(&self) -> io::Result<()> {
        Ok(flock(self, FlockOperation::NonBlockingLockExclusive)?)
    }

    fn identity(&self) -> io::Result<FileId> {
        self.metadata().map(|found| FileId { device: found.dev(), inode: found.ino() })
    }

    fn length(&self) -> io::Result<u64> {
        self.metadata().map(|found| found.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        FileExt::read_at(self, buffer, offset)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        FileExt::write_at(self, bytes, offset)
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn handle(&self) -> io::Result<Self> {
        self.try_clone()
    }
}

/// Returns the directory that contains the file at this path.
fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
