//! Tests of journals on a disk that fails, crashes and is damaged.

mod crashes;
mod lives;
mod simulated;

use journal::{
    AppendError, Disk, Gap, Journal, Kind, OpenError, RepairError, Sequence, Storage, Torn,
    Unreadable, repair,
};
use simulated::{Fault, SimulatedDisk};
use std::path::{Path, PathBuf};

const KNOWN: Kind = Kind(7);

type Bodies = Vec<Vec<u8>>;

fn path() -> PathBuf {
    PathBuf::from("/state/switch.new")
}

fn body(number: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(number);
    let length = [0, 1, 30, 500, 3_000][random.usize(0..5)];
    // Some bytes are zero, as in real entries.
    (0..length).map(|_| if random.bool() { 0 } else { random.u8(..) }).collect()
}

struct Opened<S: Storage> {
    journal: Journal<S>,
    bodies: Bodies,
    torn: Option<Torn>,
}

fn open<S: Storage + Clone>(disk: &S, path: &Path) -> Result<Opened<S>, OpenError> {
    let mut bodies = Vec::new();
    let (journal, torn) = Journal::open(disk.clone(), path, &mut |record| {
        if record.kind != KNOWN {
            return Err(Unreadable::Kind);
        }
        bodies.push(record.body.to_vec());
        Ok(())
    })?;
    Ok(Opened { journal, bodies, torn })
}

fn written(disk: &SimulatedDisk, numbers: std::ops::Range<u64>) -> Bodies {
    let mut journal = open(disk, &path()).expect("it is ours").journal;
    let bodies: Bodies = numbers.map(body).collect();
    for body in &bodies {
        journal.append(KNOWN, body).expect("there is room");
    }
    bodies
}

/// Returns the offsets of all records, and the length of the file.
fn boundaries(disk: &SimulatedDisk) -> Vec<usize> {
    let mut found = Vec::new();
    let opened = Journal::open(disk.clone(), &path(), &mut |record| {
        found.push(record.offset as usize);
        Ok(())
    });
    drop(opened.expect("it is intact"));
    found.push(disk.read(&path()).expect("it is there").len());
    found
}

#[test]
fn appended_records_are_read_again() {
    let disk = SimulatedDisk::new(1);
    let mut all = written(&disk, 0..7);
    all.extend(written(&disk, 7..9));
    let opened = open(&disk, &path()).expect("it is ours");
    assert_eq!((opened.bodies, opened.torn), (all, None));
}

/// Checks that a write may be interrupted at any byte. The incomplete record is moved aside, and
/// later records follow the complete ones.
#[test]
fn a_record_that_was_cut_off_is_set_aside() {
    let disk = SimulatedDisk::new(1);
    let all = written(&disk, 0..4);
    let whole = disk.read(&path()).expect("it is there");
    let last = boundaries(&disk)[3];
    for length in last..whole.len() {
        let disk = SimulatedDisk::new(2);
        disk.write(&path(), whole[..length].to_vec());
        let opened = open(&disk, &path()).expect("it can be used");
        assert_eq!(opened.bodies, all[..3]);
        let kept_in = PathBuf::from("/state/switch.new.torn-1");
        let (offset, rest) = (last as u64, (length - last) as u64);
        let torn = Torn { offset, length: rest, kept_in: kept_in.clone() };
        assert_eq!(opened.torn, (length > last).then_some(torn));
        if length > last {
            assert_eq!(disk.read(&kept_in).as_deref(), Some(&whole[last..length]));
        }
        drop(opened.journal);
        let later = written(&disk, 9..10);
        assert_eq!(open(&disk, &path()).expect("it is ours").bodies, [&all[..3], &later].concat());
    }
}

/// Checks that no flipped bit loses data silently. If the bit matters, the journal is not opened,
/// its file is unchanged, and a repair loses only the record with the bit. If it does not matter,
/// the journal is opened with all records, and only the start of its file may change.
#[test]
fn a_flipped_bit_is_damage() {
    let disk = SimulatedDisk::new(1);
    let all = written(&disk, 0..6);
    let whole = disk.read(&path()).expect("it is there");
    let starts = boundaries(&disk);
    // Flips in unused bytes, and in one of the two marks, have no effect.
    let unimportant = |place: usize| (44..128).contains(&place);
    for place in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[place] ^= 1 << (place % 8);
        let disk = SimulatedDisk::new(2);
        disk.write(&path(), bytes.clone());
        let mut unchanged = 0..bytes.len();
        match open(&disk, &path()) {
            Ok(opened) => {
                assert!(unimportant(place), "a flip in byte {place} was not found");
                assert_eq!(opened.bodies, all);
                unchanged.start = 128;
            }
            Err(OpenError::Damaged { offset, sequence, .. }) if place >= 128 => {
                let record = starts.iter().rposition(|start| *start <= place).expect("one");
                assert_eq!(
                    (offset, sequence),
                    (starts[record] as u64, Sequence(record as u64 + 1))
                );
                let other = PathBuf::from("/state/repaired");
                let report = repair(&disk, &path(), &other).expect("it is repaired");
                let lost = sequence;
                let missing =
                    Vec::from_iter((record < 5).then_some(Gap { first: lost, last: lost }));
                assert_eq!((report.copied, report.missing), (5, missing), "byte {place}");
                assert!(report.damaged_bytes > 0);
                let mut left = all.clone();
                left.remove(record);
                assert_eq!(open(&disk, &other).expect("it is intact").bodies, left);
            }
            Err(error) => assert!(place < 44, "byte {place}: {error}"),
        }
        let after = disk.read(&path()).expect("it is there");
        assert_eq!(after[unchanged.clone()], bytes[unchanged], "byte {place}");
        assert!(!disk.paths().iter().any(|path| path.to_string_lossy().contains("torn")));
    }
}

/// Checks that records that were removed, exchanged, duplicated or copied from another file count
/// as damage, although each of them is intact.
#[test]
fn records_that_were_moved_are_damage() {
    let disk = SimulatedDisk::new(1);
    let all: Bodies = (0..5).map(|number| vec![number; 40]).collect();
    let mut journal = open(&disk, &path()).expect("it is new").journal;
    all.iter().for_each(|body| assert!(journal.append(KNOWN, body).is_ok()));
    drop(journal);
    let whole = disk.read(&path()).expect("it is there");
    let starts = boundaries(&disk);
    let parts: Vec<&[u8]> = starts.windows(2).map(|pair| &whole[pair[0]..pair[1]]).collect();
    let header = &whole[..starts[0]];
    let stranger = SimulatedDisk::new(9);
    let mut other = open(&stranger, &path()).expect("it is new").journal;
    all.iter().for_each(|body| assert!(other.append(KNOWN, body).is_ok()));
    drop(other);
    let foreign = stranger.read(&path()).expect("it is there");
    let foreign = &foreign[starts[2]..starts[3]];
    let orders: [&[&[u8]]; 5] = [
        &[parts[0], parts[2], parts[3], parts[4]],
        &[parts[0], parts[2], parts[1], parts[3], parts[4]],
        &[parts[0], parts[1], parts[1], parts[2]],
        &[parts[0], parts[1], foreign, parts[3]],
        &[parts[1], parts[2], parts[3], parts[4]],
    ];
    for order in orders {
        let disk = SimulatedDisk::new(2);
        disk.write(&path(), [header, &order.concat()].concat());
        let refused = open(&disk, &path()).map(|opened| opened.bodies);
        assert!(matches!(refused, Err(OpenError::Damaged { .. })), "{refused:?}");
        let other = PathBuf::from("/state/repaired");
        let report = repair(&disk, &path(), &other).expect("it is repaired");
        let left = open(&disk, &other).expect("it is intact").bodies;
        assert_eq!(report.copied, left.len() as u64);
        // The remaining records are in their original order, each once.
        assert!(left.is_sorted_by(|one, next| one[0] < next[0]), "{left:?}");
        assert!(left.len() >= 3);
    }
}

/// Checks that a missing synced record is damage, even if it was the last one.
#[test]
fn a_file_that_is_shorter_than_it_was_is_damage() {
    let disk = SimulatedDisk::new(1);
    let mut journal = open(&disk, &path()).expect("it is new").journal;
    for number in 0..5 {
        journal.append(KNOWN, &body(number)).expect("there is room");
    }
    journal.sync().expect("the medium works");
    drop(journal);
    let whole = disk.read(&path()).expect("it is there");
    for length in boundaries(&disk)[0]..whole.len() {
        let disk = SimulatedDisk::new(2);
        disk.write(&path(), whole[..length].to_vec());
        let refused = open(&disk, &path()).map(|opened| opened.bodies);
        assert!(matches!(refused, Err(OpenError::Damaged { .. })), "{length} bytes: {refused:?}");
        assert_eq!(disk.read(&path()).map(|bytes| bytes.len()), Some(length));
    }
}

#[test]
fn kinds_and_versions_that_are_not_known_are_newer_files() {
    let disk = SimulatedDisk::new(1);
    written(&disk, 0..3);
    let mut journal = open(&disk, &path()).expect("it is ours").journal;
    journal.append(Kind(8), b"later").expect("there is room");
    journal.append(KNOWN, b"known").expect("there is room");
    drop(journal);
    let before = disk.read(&path());
    let refused = open(&disk, &path()).map(|opened| opened.bodies);
    assert!(matches!(refused, Err(OpenError::Newer { kind: Kind(8), .. })), "{refused:?}");
    assert_eq!(disk.read(&path()), before);
    for (text, is_newer) in [("3\n", true), ("1\n", false)] {
        let text = format!("planimeter switch state {text}and whatever follows");
        disk.write(&path(), text.clone().into());
        let refused = open(&disk, &path()).map(|opened| opened.bodies).expect_err("refused");
        assert_eq!(matches!(refused, OpenError::NewerForm { .. }), is_newer, "{refused}");
        assert_eq!(matches!(refused, OpenError::Older { .. }), !is_newer, "{refused}");
        let other = PathBuf::from("/state/repaired");
        let RepairError::Read(repaired) = repair(&disk, &path(), &other).expect_err("refused")
        else {
            panic!("it cannot be read")
        };
        assert_eq!(repaired.to_string(), refused.to_string(), "repair says the same");
        assert_eq!(disk.read(&path()), Some(text.into()));
    }
    // A damaged header of this version does not count as a foreign file.
    let disk = SimulatedDisk::new(1);
    written(&disk, 0..3);
    let mut bytes = disk.read(&path()).expect("it is there");
    bytes[35] ^= 1;
    disk.write(&path(), bytes);
    let refused = repair(&disk, &path(), &PathBuf::from("/state/repaired")).expect_err("refused");
    assert!(
        matches!(refused, RepairError::Read(OpenError::Damaged { offset: 0, .. })),
        "{refused}"
    );
}

#[test]
fn a_replacement_succeeds_as_a_whole_or_changes_nothing() {
    let disk = SimulatedDisk::new(1);
    written(&disk, 0..5);
    let mut journal = open(&disk, &path()).expect("it is ours").journal;
    journal.replace(|append| append(KNOWN, b"all of it")).expect("there is room");
    let failed = journal.replace(|append| {
        append(KNOWN, b"half of it")?;
        Err(AppendError::Owner("nothing to say".to_owned()))
    });
    failed.expect_err("what was there stays");
    journal.append(KNOWN, b"more").expect("there is room");
    drop(journal);
    let bodies = open(&disk, &path()).expect("it is ours").bodies;
    assert_eq!(bodies, [b"all of it".to_vec(), b"more".to_vec()]);
    assert_eq!(disk.paths(), [path()], "nothing is left beside it");
}

/// Checks that accepted records are in the file and refused ones are not, whichever call fails, and
/// on a full disk.
#[test]
fn answers_are_true_whichever_call_fails() {
    let run = |disk: &SimulatedDisk, fault: Option<Fault>| {
        let seeded = written(disk, 0..2);
        disk.set_fault(fault);
        let mut accepted = seeded.clone();
        let mut refused = 0;
        if let Ok(Opened { mut journal, .. }) = open(disk, &path()) {
            for number in 2..8 {
                match journal.append(KNOWN, &body(number)) {
                    Ok(_) => accepted.push(body(number)),
                    Err(_) => refused += 1,
                }
                if number == 5 {
                    let list = accepted.clone();
                    let replaced = journal
                        .replace(|append| list.iter().try_for_each(|body| append(KNOWN, body)));
                    refused += u32::from(replaced.is_err());
                }
            }
            refused += u32::from(journal.sync().is_err());
        } else {
            refused += 1;
        }
        let calls = disk.calls();
        disk.set_fault(None);
        let opened = open(disk, &path()).expect("it can be used");
        assert_eq!(opened.bodies, accepted, "{fault:?}");
        assert_eq!(opened.torn, None, "{fault:?}");
        (calls, refused)
    };
    let (calls, refused) = run(&SimulatedDisk::new(1), None);
    assert_eq!(refused, 0);
    let mut refusals = 0;
    for call in 0..calls {
        refusals += run(&SimulatedDisk::new(1), Some(Fault::Once(call))).1;
    }
    assert!(refusals > calls as u32 / 2, "{refusals} refusals for {calls} calls that failed");
    for room in (300..20_000).step_by(97) {
        run(&SimulatedDisk::new(1), Some(Fault::Full(room)));
    }
}

/// Checks that a failed sync is not repeated, and that no record is accepted after it.
#[test]
fn after_a_failed_sync_nothing_is_accepted() {
    let disk = SimulatedDisk::new(1);
    let mut journal = open(&disk, &path()).expect("it is new").journal;
    journal.append(KNOWN, b"one").expect("there is room");
    let job = journal.begin_sync().expect("there are handles").expect("there is something");
    journal.append(KNOWN, b"two").expect("there is room");
    disk.set_fault(Some(Fault::Once(0)));
    let outcome = job.run();
    journal.end_sync(&job, outcome).expect_err("the medium failed");
    let refused = journal.append(KNOWN, b"three").expect_err("it is closed");
    assert!(matches!(refused, AppendError::Closed { .. }), "{refused}");
    journal.replace(|_| Ok(())).expect_err("it is closed");
    assert_eq!(journal.marked(), Sequence(0));
}

/// Checks that a sync counts once the file marks it, and that a later sync writes a missing mark.
#[test]
fn a_sync_that_could_not_be_marked_is_repeated() {
    let disk = SimulatedDisk::new(1);
    let mut journal = open(&disk, &path()).expect("it is new").journal;
    journal.append(KNOWN, b"one").expect("there is room");
    let job = journal.begin_sync().expect("there are handles").expect("there is something");
    let outcome = job.run();
    disk.set_fault(Some(Fault::Once(0)));
    journal.end_sync(&job, outcome).expect_err("the mark cannot be written");
    assert_eq!(journal.marked(), Sequence(0));
    journal.append(KNOWN, b"two").expect("the records are unharmed");
    journal.sync().expect("the disk works again");
    assert_eq!(journal.marked(), Sequence(2));
}

/// Checks that opening a journal removes the temporary files of an interrupted replacement, and no
/// other files.
#[test]
fn leftovers_are_removed() {
    let disk = SimulatedDisk::new(1);
    let all = written(&disk, 0..3);
    let others = ["/state/.switch.new.1.0123456789abcdef.tmp", "/state/.switch.new.tmp"];
    others.iter().for_each(|other| disk.write(Path::new(other), b"of others".to_vec()));
    disk.write(Path::new("/state/.switch.new.0123456789abcdef.tmp"), b"left".to_vec());
    assert_eq!(open(&disk, &path()).expect("it is ours").bodies, all);
    let mut expected: Vec<_> = others.iter().map(PathBuf::from).collect();
    expected.push(path());
    expected.sort();
    assert_eq!(disk.paths(), expected);
}

#[test]
fn foreign_files_files_in_use_and_other_objects_are_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = |name: &str| directory.path().join(name);
    let held = open(&Disk, &file("state")).expect("it is new");
    let refused = open(&Disk, &file("state")).map(|_| ()).expect_err("it is in use");
    assert!(matches!(refused, OpenError::InUse { .. }), "{refused}");
    std::os::unix::fs::symlink(file("state"), file("link")).expect("a link");
    let refused = open(&Disk, &file("link")).map(|_| ()).expect_err("it is in use");
    assert!(matches!(refused, OpenError::InUse { .. }), "{refused}");
    std::fs::write(file("other"), "something that is not a state of a switch").expect("a file");
    let refused = open(&Disk, &file("other")).map(|_| ()).expect_err("it is not a journal");
    assert!(matches!(refused, OpenError::Foreign { .. }), "{refused}");
    let refused = open(&Disk, directory.path()).map(|_| ()).expect_err("it is not a file");
    assert!(matches!(refused, OpenError::Io { .. }), "{refused}");
    let refused = repair(&Disk, &file("state"), &file("fixed")).expect_err("it is in use");
    assert!(matches!(refused, RepairError::Read(OpenError::InUse { .. })), "{refused}");
    drop(held);
    let refused = repair(&Disk, &file("state"), &file("other")).expect_err("it is there");
    assert!(matches!(refused, RepairError::Exists { .. }), "{refused}");
}

/// Checks that journals whose names share a prefix, or end like temporary names, do not interfere.
#[test]
fn journals_side_by_side_keep_apart() {
    let directory = tempfile::tempdir().expect("a directory");
    let paths = ["sw", "sw.1", "sw.2", "sw.new", "sw.tmp"].map(|name| directory.path().join(name));
    let mut journals: Vec<_> =
        paths.iter().map(|path| open(&Disk, path).expect("it is new").journal).collect();
    for (number, journal) in journals.iter_mut().enumerate() {
        journal.append(KNOWN, &[number as u8]).expect("there is room");
        let body = [number as u8, 2];
        journal.replace(|append| append(KNOWN, &body)).expect("there is room");
    }
    drop(journals);
    for (number, path) in paths.iter().enumerate() {
        assert_eq!(open(&Disk, path).expect("it is ours").bodies, [[number as u8, 2]]);
    }
    let left = std::fs::read_dir(directory.path()).expect("it is there").count();
    assert_eq!(left, paths.len());
}

/// Checks that a synced record that has changed is reported as damage if a later record names it as
/// synced. Its rest is zero, as after an interrupted write, and the mark of the sync was not
/// written.
#[test]
fn a_changed_record_before_one_that_names_it_as_synced_is_damage() {
    let body = |number: u8| [[number; 1_500], [0; 1_500]].concat();
    for seed in 0..20 {
        let disk = SimulatedDisk::new(seed);
        let mut journal = open(&disk, &path()).expect("it is ours").journal;
        for number in 1..=3 {
            journal.append(KNOWN, &body(number)).expect("there is room");
        }
        // The write of the mark is the call after the handle is duplicated and the file synced. Its
        // failure leaves any part of the mark.
        disk.set_fault(Some(Fault::Once(2)));
        journal.sync().expect_err("the mark cannot be written");
        disk.set_fault(None);
        journal.append(KNOWN, &body(4)).expect("there is room");
        drop(journal);

        let intact = disk.read(&path()).expect("it is there");
        let second = boundaries(&disk)[1];
        let mut changed = intact.clone();
        changed[second + 100] ^= 1;
        disk.write(&path(), changed.clone());
        let Err(OpenError::Damaged { sequence, .. }) = open(&disk, &path()) else {
            panic!("seed {seed}: records that were synced are lost");
        };
        assert_eq!(sequence, Sequence(2), "seed {seed}");
        assert_eq!(disk.read(&path()), Some(changed), "seed {seed}: a refused file has changed");

        // A record that nothing names as synced may be an interrupted write.
        let mut torn = intact;
        let fourth = torn.len() - 3_000;
        torn[fourth + 100] ^= 1;
        disk.write(&path(), torn);
        let opened = open(&disk, &path()).expect("it was never synced");
        assert_eq!((opened.bodies.len(), opened.torn.is_some()), (3, true), "seed {seed}");
    }
}
