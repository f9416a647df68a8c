//! Reads files that a user names, and shortens their text for messages.
//!
//! A file may be an endless device, a pipe, or one line of many megabytes. [`read`] and
//! [`read_text`] stop at a limit, and [`shortened`] keeps messages readable.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The size in bytes of the largest file that is read. The largest networks and programs in use are
/// a third of this size.
pub const MAX_BYTES: u64 = 256 << 20;
/// The maximum number of characters of a line in a message. Longer lines are shortened.
const LONGEST_LINE: usize = 400;
/// The numbers of characters that remain at the beginning and at the end of a shortened line.
const SHOWN: [usize; 2] = [240, 120];

/// Reads the whole content of a file.
///
/// # Errors
///
/// Returns an error if the file cannot be read, or [`io::ErrorKind::FileTooLarge`] if it is longer
/// than [`MAX_BYTES`], as `/dev/zero` is.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_up_to(path, MAX_BYTES)
}

/// Reads the whole content of a text file.
///
/// # Errors
///
/// Returns the errors of [`read`], or [`io::ErrorKind::InvalidData`] if the file is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    let not_text = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text");
    String::from_utf8(read(path)?).map_err(not_text)
}

fn read_up_to(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if read as u64 > most {
        let message = format!("it is longer than {} MiB, the longest that is read", most >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// Shortens long lines of a text by cutting out their middle. The cut states how many characters
/// were removed.
#[must_use]
pub fn shortened(text: &str) -> Cow<'_, str> {
    let is_long = |line: &str| line.len() > LONGEST_LINE && line.chars().count() > LONGEST_LINE;
    if !text.split('\n').any(is_long) {
        return Cow::Borrowed(text);
    }
    let lines = text.split('\n').map(|line| {
        if !is_long(line) {
            return Cow::Borrowed(line);
        }
        let [first, last] = SHOWN;
        let count = line.chars().count();
        let begin: String = line.chars().take(first).collect();
        let end: String = line.chars().skip(count - last).collect();
        Cow::Owned(format!("{begin} ... ({} characters) ... {end}", count - first - last))
    });
    Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_up_to_the_limit_are_read() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        std::fs::write(&path, [7; 1_000]).expect("there is room");
        assert_eq!(read_up_to(&path, 1_000).expect("it is short enough").len(), 1_000);
        let refused = read_up_to(&path, 999).expect_err("it is too long");
        assert_eq!(refused.kind(), io::ErrorKind::FileTooLarge);
        let refused = read_text(&path).expect("seven is a character");
        assert_eq!(refused.len(), 1_000);
        std::fs::write(&path, [0xff]).expect("there is room");
        let refused = read_text(&path).expect_err("it is not text");
        assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn devices_without_an_end_are_refused() {
        let refused = read_up_to(Path::new("/dev/zero"), 1 << 20).expect_err("it has no end");
        assert!(refused.to_string().contains("longer than 1 MiB"), "{refused}");
    }

    #[test]
    fn long_lines_are_cut_and_short_ones_are_not() {
        let line = "ä".repeat(LONGEST_LINE);
        assert_eq!(shortened(&line), line);
        let text = format!("short\n{line}x\nshort");
        let cut = shortened(&text);
        let lines: Vec<&str> = cut.split('\n').collect();
        assert_eq!((lines[0], lines[2]), ("short", "short"));
        assert!(lines[1].contains("(41 characters)") && lines[1].ends_with("äx"), "{}", lines[1]);
        assert!(shortened(&"x".repeat(50_000_000)).len() < 2 * LONGEST_LINE);
    }
}
