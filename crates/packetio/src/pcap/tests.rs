//! Tests of reading and writing captures in all formats and byte orders.
use std::io::{self, Cursor, Read};
use std::path::Path;

use proptest::prelude::*;

use super::*;

/// A frame: timestamp, bytes, original length, link type.
type Owned = (Option<u64>, Vec<u8>, u32, u16);

fn read(bytes: &[u8]) -> (Vec<Owned>, Option<CaptureError>) {
    let mut frames = Vec::new();
    let mut reader = match CaptureReader::new(Path::new("test.cap"), Cursor::new(bytes.to_vec())) {
        Ok(reader) => reader,
        Err(error) => return (frames, Some(error)),
    };
    loop {
        match reader.next_frame() {
            Ok(Some(frame)) => frames.push((
                frame.timestamp,
                frame.data.to_vec(),
                frame.original_bytes,
                frame.link_type.0,
            )),
            Ok(None) => return (frames, None),
            Err(error) => return (frames, Some(error)),
        }
    }
}

fn frames(bytes: &[u8]) -> Vec<Owned> {
    let (frames, error) = read(bytes);
    assert!(error.is_none(), "{error:?}");
    frames
}

fn error(bytes: &[u8]) -> String {
    read(bytes).1.expect("an error").to_string()
}

/// The byte order of a generated file.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    Little,
    Big,
}

impl Order {
    fn u16(self, value: u16) -> Vec<u8> {
        if self == Self::Little { value.to_le_bytes() } else { value.to_be_bytes() }.to_vec()
    }

    fn u32(self, value: u32) -> Vec<u8> {
        if self == Self::Little { value.to_le_bytes() } else { value.to_be_bytes() }.to_vec()
    }

    fn u64(self, value: u64) -> Vec<u8> {
        if self == Self::Little { value.to_le_bytes() } else { value.to_be_bytes() }.to_vec()
    }

    fn pcap(self, magic: u32, records: &[(u32, u32, &[u8])]) -> Vec<u8> {
        let mut file = [
            self.u32(magic),
            self.u16(2),
            self.u16(4),
            self.u32(0),
            self.u32(0),
            self.u32(64),
            self.u32(1),
        ]
        .concat();
        for (seconds, fraction, data) in records {
            let length = data.len() as u32;
            for word in [*seconds, *fraction, length, length + 4] {
                file.extend(self.u32(word));
            }
            file.extend(*data);
        }
        file
    }

    fn block(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let mut body = body.to_vec();
        body.resize(body.len().next_multiple_of(4), 0);
        let length = self.u32(body.len() as u32 + 12);
        [self.u32(kind), length.clone(), body, length].concat()
    }

    fn section(self) -> Vec<u8> {
        let body = [self.u32(0x1a2b_3c4d), self.u16(1), self.u16(0), self.u64(u64::MAX)].concat();
        self.block(0x0a0d_0d0a, &body)
    }

    fn option(self, code: u16, value: &[u8]) -> Vec<u8> {
        let mut option = [self.u16(code), self.u16(value.len() as u16), value.to_vec()].concat();
        option.resize(option.len().next_multiple_of(4), 0);
        option
    }

    fn interface(self, link_type: u16, snaplen: u32, options: &[Vec<u8>]) -> Vec<u8> {
        let end = if options.is_empty() { vec![] } else { self.option(0, &[]) };
        let body =
            [self.u16(link_type), self.u16(0), self.u32(snaplen), options.concat(), end].concat();
        self.block(1, &body)
    }

    fn enhanced(self, interface: u32, ticks: u64, data: &[u8], original: u32) -> Vec<u8> {
        let body = [
            self.u32(interface),
            self.u32((ticks >> 32) as u32),
            self.u32(ticks as u32),
            self.u32(data.len() as u32),
            self.u32(original),
            data.to_vec(),
        ]
        .concat();
        self.block(6, &body)
    }

    fn simple(self, data: &[u8], original: u32) -> Vec<u8> {
        self.block(3, &[self.u32(original), data.to_vec()].concat())
    }
}

const ORDERS: [Order; 2] = [Order::Little, Order::Big];

#[test]
fn pcap_is_read_in_both_byte_orders_and_time_units() {
    for order in ORDERS {
        for (magic, unit) in [(0xa1b2_c3d4, 1000), (0xa1b2_3c4d, 1)] {
            let file = order.pcap(magic, &[(7, 5, b"first"), (1_700_000_000, 999_999, b"")]);
            assert_eq!(
                frames(&file),
                [
                    (Some(7_000_000_000 + 5 * unit), b"first".to_vec(), 9, 1),
                    (Some(1_700_000_000_000_000_000 + 999_999 * unit), vec![], 4, 1),
                ]
            );
        }
    }
}

#[test]
fn modified_pcap_has_longer_record_headers() {
    let mut file = Order::Little.pcap(0xa1b2_cd34, &[]);
    for word in [3, 4, 2, 60, 0, 0] {
        file.extend(Order::Little.u32(word));
    }
    file.extend(b"ab");
    assert_eq!(frames(&file), [(Some(3_000_004_000), b"ab".to_vec(), 60, 1)]);
}

#[test]
fn records_longer_than_the_snap_length_are_read() {
    let data = [7; 300];
    let file = Order::Little.pcap(0xa1b2_c3d4, &[(0, 0, &data)]);
    assert_eq!(frames(&file), [(Some(0), data.to_vec(), 304, 1)]);
}

#[test]
fn pcapng_is_read_in_both_byte_orders() {
    for order in ORDERS {
        let file = [
            order.section(),
            order.interface(1, 0, &[]),
            order.interface(147, 0, &[order.option(9, &[9])]),
            order.block(5, &[0; 12]),
            order.enhanced(0, 2_500_000, b"12345", 1500),
            order.enhanced(1, 2_500_000_001, b"678", 3),
        ]
        .concat();
        assert_eq!(
            frames(&file),
            [
                (Some(2_500_000_000), b"12345".to_vec(), 1500, 1),
                (Some(2_500_000_001), b"678".to_vec(), 3, 147),
            ]
        );
    }
}

#[test]
fn units_and_offsets_of_timestamps_are_applied() {
    for order in ORDERS {
        let offset = |seconds: i64| order.option(14, &order.u64(seconds as u64));
        let file = [
            order.section(),
            order.interface(1, 0, &[order.option(9, &[0x80 | 10]), offset(100)]),
            order.interface(1, 0, &[order.option(9, &[0]), offset(-2)]),
            order.enhanced(0, 1024 + 512, b"", 0),
            order.enhanced(1, 3, b"", 0),
        ]
        .concat();
        let stamps: Vec<_> = frames(&file).iter().map(|frame| frame.0).collect();
        assert_eq!(stamps, [Some(101_500_000_000), Some(1_000_000_000)]);

        let early = [
            order.section(),
            order.interface(1, 0, &[offset(-2)]),
            order.enhanced(0, 1_999_999, b"", 0),
        ]
        .concat();
        assert!(error(&early).contains("before 1970"), "{}", error(&early));
        for resolution in [20, 127, 0x80 | 64] {
            let file = [order.section(), order.interface(1, 0, &[order.option(9, &[resolution])])]
                .concat();
            assert!(error(&file).contains("if_tsresol"), "{}", error(&file));
        }
    }
}

#[test]
fn simple_packets_have_no_time_and_obey_the_snap_length() {
    for order in ORDERS {
        let file = [
            order.section(),
            order.interface(1, 5, &[]),
            order.simple(b"12345", 9),
            order.simple(b"abc", 3),
        ]
        .concat();
        assert_eq!(frames(&file), [(None, b"12345".to_vec(), 9, 1), (None, b"abc".to_vec(), 3, 1)]);
    }
}

#[test]
fn a_new_section_forgets_interfaces_and_may_change_the_byte_order() {
    let (little, big) = (Order::Little, Order::Big);
    let start = [little.section(), little.interface(1, 0, &[]), little.enhanced(0, 1, b"a", 1)];
    let next = [big.section(), big.interface(113, 0, &[]), big.enhanced(0, 2, b"b", 1)];
    let file = [start.concat(), next.concat()].concat();
    assert_eq!(
        frames(&file),
        [(Some(1000), b"a".to_vec(), 1, 1), (Some(2000), b"b".to_vec(), 1, 113)]
    );
    let forgotten = [start.concat(), big.section(), big.enhanced(0, 2, b"b", 1)].concat();
    assert!(error(&forgotten).contains("interface 0; the section describes 0"));
}

#[test]
fn files_of_other_formats_are_refused() {
    for bytes in [&b""[..], b"\xd4\xc3", b"# inter-arrival times\n0.1\n", b"\x7fELF"] {
        assert!(matches!(read(bytes).1, Some(CaptureError::NotACapture { .. })), "{bytes:?}");
    }
    assert_eq!(error(b"text"), "test.cap is not a capture: it begins like neither pcap nor pcapng");
}

#[test]
fn a_file_cut_anywhere_yields_its_whole_frames_and_the_offset() {
    for (header, file) in [
        (24, Order::Big.pcap(0xa1b2_c3d4, &[(1, 0, b"first"), (2, 0, b"second")])),
        (
            28,
            [
                Order::Little.section(),
                Order::Little.interface(1, 0, &[]),
                Order::Little.enhanced(0, 1_000_000, b"first", 9),
                Order::Little.enhanced(0, 2_000_000, b"second", 10),
            ]
            .concat(),
        ),
    ] {
        let whole = frames(&file);
        assert_eq!(whole.len(), 2);
        let mut ends_between_blocks = 0;
        for length in 4..file.len() {
            let (got, fault) = read(&file[..length]);
            assert_eq!(got, whole[..got.len()], "cut at {length}");
            match fault {
                None => ends_between_blocks += 1,
                Some(CaptureError::Truncated { offset, .. }) => {
                    assert!(offset as usize <= length);
                    assert!(offset == 0 || offset >= header, "cut at {length}: {offset}");
                    assert!(read(&file[..offset as usize]).1.is_none() || offset == 0);
                }
                Some(other) => panic!("cut at {length}: {other}"),
            }
        }
        assert_eq!(ends_between_blocks, if header == 24 { 2 } else { 3 });
    }
}

#[test]
fn contradictions_name_file_offset_and_cause() {
    let order = Order::Little;
    let start = [order.section(), order.interface(1, 0, &[])].concat();
    let at = start.len();
    let with = |block: Vec<u8>| error(&[start.clone(), block].concat());
    let place = format!("test.cap, block at byte {at}: ");

    assert!(with(order.enhanced(4, 0, b"", 0)).starts_with(&place));
    // This captured length exceeds the block.
    let mut long = order.enhanced(0, 0, b"data", 4);
    long[20..24].copy_from_slice(&400u32.to_le_bytes());
    assert_eq!(
        with(long),
        format!("{place}an enhanced packet block whose fields contradict its length")
    );
    // The lengths at the two ends of this block differ.
    let mut unequal = order.enhanced(0, 0, b"data", 4);
    let end = unequal.len() - 4;
    unequal[end..].copy_from_slice(&8u32.to_le_bytes());
    assert!(with(unequal).starts_with(&place));
    let short = [order.u32(6), order.u32(8)].concat();
    assert!(with(short).contains("a block length of 8"));
    assert!(with(order.block(2, &[0; 20])).contains("obsolete"));
    assert!(with([order.u32(6), order.u32(u32::MAX)].concat()).contains("taken for damage"));

    let mut record = order.pcap(0xa1b2_c3d4, &[(0, 0, b"")]);
    record[32..36].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(error(&record).starts_with("test.cap, block at byte 24: a length of 4294967295"));

    let mut version = order.section();
    version[12] = 2;
    assert!(error(&version).contains("version 2.0"));
    let mut no_order = order.section();
    no_order[8] = 0;
    assert!(error(&no_order).contains("without byte order"));
}

#[test]
fn read_errors_keep_their_cause() {
    #[derive(Debug)]
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    let start = Cursor::new(Order::Little.pcap(0xa1b2_c3d4, &[]));
    let mut reader = CaptureReader::new(Path::new("x"), start.chain(Broken)).unwrap();
    assert_eq!(reader.next_frame().unwrap_err().to_string(), "cannot read x: the disk is gone");
}

#[test]
fn files_are_recognised() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    for (bytes, expected) in [
        (Order::Big.pcap(0xa1b2_3c4d, &[]), true),
        (Order::Little.pcap(0xa1b2_c3d4, &[]), true),
        (Order::Big.section(), true),
        (b"0.5\n".to_vec(), false),
        (vec![], false),
    ] {
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(is_capture(&path).unwrap(), expected);
        assert_eq!(CaptureReader::open(&path).is_ok(), expected);
    }
    let missing = directory.path().join("missing");
    assert!(is_capture(&missing).is_err());
    assert!(matches!(CaptureReader::open(&missing), Err(CaptureError::Io { .. })));
}

#[test]
fn frames_that_a_capture_cannot_hold_are_not_written() {
    let mut writer = CaptureWriter::new(Vec::new(), LinkType::ETHERNET).unwrap();
    assert!(writer.write_frame(u64::MAX, b"").is_err());
    assert!(writer.write_frame(0, &vec![0; 262_145]).is_err());
    assert_eq!(frames(&writer.finish().unwrap()), []);
}

proptest! {
    #[test]
    fn written_frames_read_back(
        link_type: u16,
        written in prop::collection::vec(
            (0u64..4_294_967_296_000_000_000, prop::collection::vec(any::<u8>(), 0..2000)),
            0..20,
        ),
    ) {
        let mut writer = CaptureWriter::new(Vec::new(), LinkType(link_type)).unwrap();
        for (timestamp, data) in &written {
            writer.write_frame(*timestamp, data).unwrap();
        }
        let file = writer.finish().unwrap();
        let expected: Vec<Owned> = written
            .into_iter()
            .map(|(timestamp, data)| {
                let length = data.len() as u32;
                (Some(timestamp), data, length, link_type)
            })
            .collect();
        prop_assert_eq!(frames(&file), expected);
    }

    #[test]
    fn damage_never_panics(
        big: bool,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let order = if big { Order::Big } else { Order::Little };
        let options = [order.option(9, &[6]), order.option(14, &[0; 8])];
        let pcapng = [
            order.section(),
            order.interface(1, 96, &options),
            order.enhanced(0, 77, &[1; 60], 60),
            order.simple(&[2; 61], 61),
            order.block(4, &[0; 8]),
            order.enhanced(0, 78, &[3; 7], 7),
        ]
        .concat();
        for mut file in [order.pcap(0xa1b2_c3d4, &[(1, 2, &[4; 60]), (1, 3, &[5; 60])]), pcapng] {
            for (at, value) in &damage {
                let at = at.index(file.len());
                file[at] = *value;
            }
            let (frames, _) = read(&file);
            prop_assert!(frames.iter().map(|frame| frame.1.len()).sum::<usize>() <= file.len());
        }
    }
}
