//! Values that are paths. They are made absolute and checked before the run starts.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::{Rejection, Value, quoted};

/// An input file. Empty text sets it to `None`.
#[derive(Debug, Default)]
pub(in crate::config) struct InputFile(pub(in crate::config) Option<PathBuf>);

impl Value for InputFile {
    fn read(&mut self, text: &str, base: &Path) -> Result<(), Rejection> {
        self.0 = if text.is_empty() { None } else { Some(input_file(text, base)?) };
        Ok(())
    }

    fn text(&self) -> String {
        optional_path_text(&self.0)
    }
}

/// An output file. Empty text sets it to `None`.
#[derive(Debug, Default)]
pub(in crate::config) struct OutputFile(pub(in crate::config) Option<PathBuf>);

impl Value for OutputFile {
    fn read(&mut self, text: &str, base: &Path) -> Result<(), Rejection> {
        self.0 = None;
        if text.is_empty() {
            return Ok(());
        }
        let path = absolute(text, base)?;
        if path.is_dir() {
            return Err(format!("{} is a folder", quoted(text)).into());
        }
        match path.parent() {
            Some(parent) if !parent.is_dir() => {
                return Err(format!("the folder {} does not exist", parent.display()).into());
            }
            _ => self.0 = Some(path),
        }
        Ok(())
    }

    fn text(&self) -> String {
        optional_path_text(&self.0)
    }
}

/// An output folder. With empty text, it is `None`, and the run chooses its name.
#[derive(Debug, Default)]
pub(in crate::config) struct OutputDirectory(pub(in crate::config) Option<PathBuf>);

impl Value for OutputDirectory {
    fn read(&mut self, text: &str, base: &Path) -> Result<(), Rejection> {
        self.0 = None;
        if text.is_empty() {
            return Ok(());
        }
        let path = absolute(text, base)?;
        if path.exists() {
            let mut entries = fs::read_dir(&path).map_err(|error| {
                format!("{} is not a folder that can be read: {error}", quoted(text))
            })?;
            if entries.next().is_some() {
                return Err(Rejection::write(
                    format!("{} is not empty, and results are never overwritten", quoted(text)),
                    "the name of a folder that does not exist yet",
                ));
            }
        }
        self.0 = Some(path);
        Ok(())
    }

    fn text(&self) -> String {
        optional_path_text(&self.0)
    }
}

/// Checks that a file exists and can be read, and returns its absolute path. Pipes, such as those
/// of a shell's process substitution, are not opened, because a reader would lose the data.
pub(super) fn input_file(text: &str, base: &Path) -> Result<PathBuf, Rejection> {
    if text.is_empty() {
        return Err("the name of a file is missing".to_owned().into());
    }
    let path = absolute(text, base)?;
    let unreadable = |error| format!("cannot read {}: {error}", path.display());
    let metadata = fs::metadata(&path).map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(format!("{} is a folder, not a file", path.display()).into());
    }
    if metadata.is_file() {
        File::open(&path).map_err(unreadable)?;
    }
    Ok(path)
}

fn absolute(text: &str, base: &Path) -> Result<PathBuf, Rejection> {
    std::path::absolute(base.join(text))
        .map_err(|error| format!("{} is not a path: {error}", quoted(text)).into())
}

fn optional_path_text(path: &Option<PathBuf>) -> String {
    path.as_deref().map(|path| path.display().to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_beside_the_file_that_names_them() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("capture.pcap");
        fs::write(&file, "x").expect("a file");
        assert_eq!(input_file("capture.pcap", folder.path()), Ok(file));
        let missing = input_file("other.pcap", folder.path()).expect_err("missing");
        assert!(missing.message.contains("other.pcap: No such file"), "{}", missing.message);
        let directory = input_file(".", folder.path()).expect_err("a folder");
        assert!(directory.message.contains("is a folder"), "{}", directory.message);
    }

    #[test]
    fn output_needs_a_place() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut output = OutputFile::default();
        assert!(output.read("netcfg.json", folder.path()).is_ok());
        assert_eq!(output.0, Some(folder.path().join("netcfg.json")));
        let missing = output.read("none/netcfg.json", folder.path()).expect_err("no folder");
        assert!(missing.message.contains("does not exist"), "{}", missing.message);
        assert!(output.read(".", folder.path()).is_err());
    }

    #[test]
    fn results_are_not_overwritten() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut output = OutputDirectory::default();
        assert!(output.read("new", folder.path()).is_ok());
        assert!(output.read(".", folder.path()).is_ok(), "an empty folder will do");
        fs::write(folder.path().join("result.json"), "{}").expect("a file");
        let full = output.read(".", folder.path()).expect_err("not empty");
        assert!(full.message.contains("not empty"), "{}", full.message);
        assert!(output.read("result.json", folder.path()).is_err());
    }
}
