//! Fuzzes a journal on a simulated disk. Each byte of an input is a decision about what the
//! journal's owner does and which fault comes next. An input that begins as a journal does is taken
//! as the journal's file, which is opened and repaired.
//!
//! The model of what the file must hold, and the disk, are shared with `crates/journal/tests`.

#[path = "../../../crates/journal/tests/journal/lives.rs"]
#[expect(dead_code, reason = "parts that only the tests use")]
mod lives;
#[path = "../../../crates/journal/tests/journal/simulated.rs"]
mod simulated;

use std::path::Path;

use journal::{Journal, OpenError, Unreadable, repair};
use lives::{End, Lives};
use simulated::{Crash, Fault, SimulatedDisk};

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    if data.starts_with(b"planimeter switch state ") {
        opened(data);
    } else {
        lived(&mut Choices(data));
    }
}

/// The bytes of an input that have not been used yet.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn is_left(&self) -> bool {
        !self.0.is_empty()
    }

    /// Returns a number of one byte, or zero at the end of the input.
    fn byte(&mut self) -> u64 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        u64::from(*first)
    }

    /// Returns a number of two bytes.
    fn number(&mut self) -> u64 {
        self.byte() << 8 | self.byte()
    }

    fn crash(&mut self) -> End {
        End::Crash(match self.byte() % 3 {
            0 => Crash::Kill,
            1 => Crash::Power,
            _ => Crash::PowerInOrder,
        })
    }

    fn fault(&mut self) -> Option<Fault> {
        match self.byte() % 4 {
            0 => Some(Fault::Once(self.byte())),
            1 => Some(Fault::Crash(self.byte())),
            _ => None,
        }
    }
}

/// Interprets an input as actions of a journal's owners and as faults. A model of the journal
/// checks its records at each start.
fn lived(choices: &mut Choices<'_>) {
    let mut lives = Lives::begin(choices.number(), None);
    while choices.is_left() {
        match choices.byte() % 16 {
            0..6 => lives.append(choices.byte() as usize),
            6 => lives.append(choices.number() as usize % 5_000),
            7 => {
                lives.begin_sync();
            }
            8 => lives.end_sync(),
            9 => lives.replace(),
            10 | 11 => lives.set_fault(choices.fault()),
            12 => lives.fill_disk(choices.number() as usize),
            13 => drop(lives.restart(End::Close, choices.fault())),
            14 => drop(lives.restart(choices.crash(), choices.fault())),
            _ => drop(lives.restart(End::Flip { place: choices.number() }, None)),
        }
        if lives.has_ended() {
            lives.restart(choices.crash(), choices.fault());
        }
    }
    lives.restart(End::Close, None);
}

/// Opens a journal file with this content, and repairs it if it is damaged. Records that were read
/// must be read again after reopening, and a refused file must not change.
fn opened(data: &[u8]) {
    let (path, copy) = (Path::new("/state/switch"), Path::new("/state/repaired"));
    let disk = SimulatedDisk::new(1);
    disk.write(path, data.to_vec());
    let readable = match bodies(&disk, path) {
        Ok(found) => {
            assert_eq!(bodies(&disk, path).expect("it was opened once"), found);
            return;
        }
        Err(error) => matches!(error, OpenError::Damaged { .. }),
    };
    assert_eq!(disk.read(path).as_deref(), Some(data), "a refused file has changed");
    if let Ok(report) = repair(&disk, path, copy) {
        assert!(readable, "a file that is not damaged was repaired");
        let copied = bodies(&disk, copy).expect("the copy is intact");
        assert_eq!(copied.len() as u64, report.copied);
    }
}

fn bodies(disk: &SimulatedDisk, path: &Path) -> Result<Vec<Vec<u8>>, OpenError> {
    let mut found = Vec::new();
    Journal::open(disk.clone(), path, &mut |record| {
        found.push(record.body.to_vec());
        Ok::<(), Unreadable>(())
    })?;
    Ok(found)
}
