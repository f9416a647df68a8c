//! A reader of captures that proceeds block by block.
//!
//! The length of a block is checked, and the whole block is read, before it is parsed. A parser
//! that needs more data has therefore found an error in the file, not the end of a buffer.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use pcap_parser::nom::IResult;
use pcap_parser::{
    InterfaceDescriptionBlock, OptionCode, PcapError, parse_enhancedpacketblock_be,
    parse_enhancedpacketblock_le, parse_interfacedescriptionblock_be,
    parse_interfacedescriptionblock_le, parse_pcap_frame, parse_pcap_frame_be,
    parse_pcap_frame_modified, parse_pcap_header, parse_sectionheaderblock,
    parse_simplepacketblock_be, parse_simplepacketblock_le,
};

use super::{CaptureError, LinkType};

/// The size in bytes of the longest block or record that is accepted. Wireshark has this limit for
/// pcapng blocks.
const MAX_BLOCK: u32 = 16 << 20;
/// The largest number of interfaces in a section.
const MAX_INTERFACES: usize = 65_536;

/// The block type of a section header, which is the same in both byte orders.
const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const BYTE_ORDER_LITTLE: [u8; 4] = [0x4d, 0x3c, 0x2b, 0x1a];
const BYTE_ORDER_BIG: [u8; 4] = [0x1a, 0x2b, 0x3c, 0x4d];
const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
/// The length of the shortest block in bytes: its type, its length, and its length again at the
/// end.
const MIN_BLOCK: u32 = 12;
/// The offsets of the frame's bytes in the types of blocks that contain a frame.
const SIMPLE_PACKET_DATA: usize = 12;
const ENHANCED_PACKET_DATA: usize = 28;

/// The magic numbers of pcap: microseconds and nanoseconds in both byte orders, and the "modified"
/// format, which has longer record headers.
const MAGICS: [[u8; 4]; 5] = [
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0x4d, 0x3c, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x34, 0xcd, 0xb2, 0xa1],
];
/// The length of the header of a pcap file in bytes.
const PCAP_HEADER: usize = 24;

/// Returns whether a file begins like a capture.
///
/// # Errors
///
/// Returns an error if the file cannot be opened or read.
pub fn is_capture(path: &Path) -> io::Result<bool> {
    let mut start = Vec::with_capacity(4);
    File::open(path)?.take(4).read_to_end(&mut start)?;
    Ok(start == SECTION_HEADER || MAGICS.iter().any(|magic| start == magic))
}

/// A frame that was read from a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The timestamp in nanoseconds since 1970, or `None` in pcapng's simple packet blocks.
    pub timestamp: Option<u64>,
    /// The captured bytes of the frame, which may be only its beginning.
    pub data: &'a [u8],
    /// The length on the wire in bytes.
    pub original_bytes: u32,
    /// The link-layer header type of the frame.
    pub link_type: LinkType,
    /// The offset in the file of the block or record that contains the frame.
    pub offset: u64,
}

/// A reader that returns the frames of a capture in order.
///
/// The reader holds one block in memory at a time, and never allocates more than the file contains.
#[derive(Debug)]
pub struct CaptureReader<R> {
    path: PathBuf,
    input: R,
    /// The offset in the file of the next byte that is read from `input`.
    position: u64,
    /// The last block or record that was read.
    block: Vec<u8>,
    format: Format,
}

/// The format of the capture, with the state that later blocks need.
#[derive(Debug)]
enum Format {
    Pcap(Pcap),
    Pcapng(Section),
}

/// The format of a classic pcap file.
#[derive(Clone, Copy, Debug)]
struct Pcap {
    layout: PcapLayout,
    link_type: LinkType,
    nanoseconds: bool,
}

/// The layout of record headers. `Modified` is the layout of Kuznetzov's variant of pcap.
#[derive(Clone, Copy, Debug)]
enum PcapLayout {
    LittleEndian,
    BigEndian,
    Modified,
}

/// The current section of a pcapng file.
#[derive(Debug)]
struct Section {
    big_endian: bool,
    interfaces: Vec<Interface>,
}

/// An interface that a pcapng section describes.
#[derive(Clone, Copy, Debug)]
struct Interface {
    link_type: LinkType,
    /// The largest number of bytes captured of a frame, or 0 for no limit.
    snaplen: u32,
    /// The number of timestamp units per second.
    units: u64,
    /// The number of seconds to add to timestamps.
    offset: i64,
}

/// The content of the block that was read last.
enum Block {
    Frame(Found),
    Other,
}

/// A frame in the last block that was read, with its range of bytes.
struct Found {
    timestamp: Option<u64>,
    data: Range<usize>,
    original_bytes: u32,
    link_type: LinkType,
}

/// An error in a block. It lacks the offset of the block, which the caller adds.
enum Fault {
    Io(io::Error),
    Truncated,
    NotACapture,
    Malformed(String),
}

impl CaptureReader<BufReader<File>> {
    /// Opens a capture and reads its header.
    ///
    /// # Errors
    ///
    /// Returns a [`CaptureError`] if the file cannot be read or is no capture.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        let file = File::open(path)
            .map_err(|source| CaptureError::Io { path: path.to_owned(), source })?;
        Self::new(path, BufReader::new(file))
    }
}

impl<R: Read> CaptureReader<R> {
    /// Reads a capture from `input`. Errors refer to the capture by `name`.
    ///
    /// # Errors
    ///
    /// Returns a [`CaptureError`] if the input cannot be read or is no capture.
    pub fn new(name: &Path, input: R) -> Result<Self, CaptureError> {
        let mut reader = Self {
            path: name.to_owned(),
            input,
            position: 0,
            block: Vec::new(),
            format: Format::Pcapng(Section { big_endian: false, interfaces: Vec::new() }),
        };
        reader.read_header().map_err(|fault| fault.at(name, 0))?;
        Ok(reader)
    }

    /// Returns the next frame, or `None` at the end of the file.
    ///
    /// # Errors
    ///
    /// Returns a [`CaptureError`] if the file cannot be read, is truncated, or contradicts its
    /// format. Earlier frames are complete, and no frame follows the error.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        loop {
            let offset = self.position;
            match self.next_block().map_err(|fault| fault.at(&self.path, offset))? {
                None => return Ok(None),
                Some(Block::Other) => {}
                Some(Block::Frame(Found { timestamp, data, original_bytes, link_type })) => {
                    let data = self.block.get(data).unwrap_or_default();
                    let frame = Frame { timestamp, data, original_bytes, link_type, offset };
                    return Ok(Some(frame));
                }
            }
        }
    }

    /// Reads the header of a pcap file or the first section header of a pcapng file.
    fn read_header(&mut self) -> Result<(), Fault> {
        if self.fill_to(4).is_err_and(|fault| matches!(fault, Fault::Truncated)) {
            return Err(Fault::NotACapture);
        }
        if self.block == SECTION_HEADER {
            self.fill_to(8)?;
            return self.finish_section_header();
        }
        if !MAGICS.iter().any(|magic| self.block == magic) {
            return Err(Fault::NotACapture);
        }
        self.fill_to(PCAP_HEADER)?;
        let header = parsed(parse_pcap_header(&self.block), "the file header")?;
        let layout = match (header.is_modified_format(), header.is_bigendian()) {
            (true, _) => PcapLayout::Modified,
            (false, true) => PcapLayout::BigEndian,
            (false, false) => PcapLayout::LittleEndian,
        };
        // The upper half of the field describes the FCS.
        let link_type = LinkType(header.network.0 as u16);
        let nanoseconds = header.is_nanosecond_precision();
        self.format = Format::Pcap(Pcap { layout, link_type, nanoseconds });
        Ok(())
    }

    fn next_block(&mut self) -> Result<Option<Block>, Fault> {
        self.block.clear();
        match self.format {
            Format::Pcap(pcap) => self.next_record(pcap),
            Format::Pcapng(_) => self.next_pcapng_block(),
        }
    }

    fn next_record(&mut self, pcap: Pcap) -> Result<Option<Block>, Fault> {
        let header = match pcap.layout {
            PcapLayout::LittleEndian | PcapLayout::BigEndian => 16,
            PcapLayout::Modified => 24,
        };
        if !self.fill_or_end(header)? {
            return Ok(None);
        }
        let big_endian = matches!(pcap.layout, PcapLayout::BigEndian);
        let captured = checked_length(read_u32(&self.block, 8, big_endian))?;
        self.fill_to(header + captured)?;
        let parse = match pcap.layout {
            PcapLayout::LittleEndian => parse_pcap_frame,
            PcapLayout::BigEndian => parse_pcap_frame_be,
            PcapLayout::Modified => parse_pcap_frame_modified,
        };
        let record = parsed(parse(&self.block), "a record")?;
        let unit = if pcap.nanoseconds { 1 } else { 1000 };
        let timestamp = u64::from(record.ts_sec) * 1_000_000_000 + u64::from(record.ts_usec) * unit;
        Ok(Some(Block::Frame(Found {
            timestamp: Some(timestamp),
            data: header..header + record.data.len(),
            original_bytes: record.origlen,
            link_type: pcap.link_type,
        })))
    }

    fn next_pcapng_block(&mut self) -> Result<Option<Block>, Fault> {
        if !self.fill_or_end(8)? {
            return Ok(None);
        }
        if self.block.starts_with(&SECTION_HEADER) {
            self.finish_section_header()?;
            return Ok(Some(Block::Other));
        }
        let Format::Pcapng(Section { big_endian, .. }) = self.format else {
            return Ok(Some(Block::Other));
        };
        let kind = read_u32(&self.block, 0, big_endian);
        let length = checked_block_length(read_u32(&self.block, 4, big_endian))?;
        self.fill_to(length)?;
        let Format::Pcapng(section) = &mut self.format else { return Ok(Some(Block::Other)) };
        match kind {
            INTERFACE_DESCRIPTION => section.add_interface(&self.block).map(|()| Block::Other),
            ENHANCED_PACKET => section.enhanced_packet(&self.block).map(Block::Frame),
            SIMPLE_PACKET => section.simple_packet(&self.block).map(Block::Frame),
            OBSOLETE_PACKET => Err(Fault::Malformed(
                "an obsolete packet block; convert the file, for instance with editcap".into(),
            )),
            _ => Ok(Block::Other),
        }
        .map(Some)
    }

    /// Begins a section: reads its header. The type and the length of the header have been read
    /// already.
    fn finish_section_header(&mut self) -> Result<(), Fault> {
        self.fill_to(MIN_BLOCK as usize)?;
        let big_endian = match self.block.get(8..12) {
            Some(magic) if magic == BYTE_ORDER_LITTLE => false,
            Some(magic) if magic == BYTE_ORDER_BIG => true,
            _ => return Err(Fault::Malformed("a section header without byte order".into())),
        };
        let length = checked_block_length(read_u32(&self.block, 4, big_endian))?;
        self.fill_to(length)?;
        let header = parsed(parse_sectionheaderblock(&self.block), "a section header")?;
        if header.major_version != 1 {
            return Err(Fault::Malformed(format!(
                "a section of pcapng version {}.{}; only version 1 is known",
                header.major_version, header.minor_version
            )));
        }
        self.format = Format::Pcapng(Section { big_endian, interfaces: Vec::new() });
        Ok(())
    }

    /// Reads until the buffer has `length` bytes of the block. Returns false if the file ends
    /// before the first byte.
    fn fill_or_end(&mut self, length: usize) -> Result<bool, Fault> {
        match self.fill_to(length) {
            Err(Fault::Truncated) if self.block.is_empty() => Ok(false),
            other => other.map(|()| true),
        }
    }

    /// Reads until the buffer has `length` bytes of the block. The buffer grows with the data that
    /// is read, not with the length that the file claims.
    fn fill_to(&mut self, length: usize) -> Result<(), Fault> {
        let missing = length.saturating_sub(self.block.len()) as u64;
        let read = (&mut self.input).take(missing).read_to_end(&mut self.block);
        let read = read.map_err(Fault::Io)? as u64;
        self.position += read;
        if read < missing { Err(Fault::Truncated) } else { Ok(()) }
    }
}

impl Section {
    fn add_interface(&mut self, block: &[u8]) -> Result<(), Fault> {
        let parse = if self.big_endian {
            parse_interfacedescriptionblock_be
        } else {
            parse_interfacedescriptionblock_le
        };
        let description = parsed(parse(block), "an interface description")?;
        if self.interfaces.len() == MAX_INTERFACES {
            return Err(Fault::Malformed(format!(
                "more than {MAX_INTERFACES} interfaces in a section"
            )));
        }
        self.interfaces.push(Interface {
            link_type: LinkType(description.linktype.0 as u16),
            snaplen: description.snaplen,
            units: units_per_second(description.if_tsresol)?,
            offset: self.time_offset(&description),
        });
        Ok(())
    }

    /// Returns the value of an interface's option `if_tsoffset`, which is added to timestamps.
    /// Reads the option from its bytes, because the parser does not convert it to the byte order of
    /// the section.
    fn time_offset(&self, description: &InterfaceDescriptionBlock<'_>) -> i64 {
        description
            .options
            .iter()
            .filter(|option| option.code == OptionCode::IfTsoffset)
            .find_map(|option| option.value.first_chunk().copied())
            .map_or(0, if self.big_endian { i64::from_be_bytes } else { i64::from_le_bytes })
    }

    fn enhanced_packet(&self, block: &[u8]) -> Result<Found, Fault> {
        let parse = if self.big_endian {
            parse_enhancedpacketblock_be
        } else {
            parse_enhancedpacketblock_le
        };
        let packet = parsed(parse(block), "an enhanced packet block")?;
        let interface = self.interface(packet.if_id)?;
        let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
        let captured = (packet.caplen as usize).min(packet.data.len());
        Ok(Found {
            timestamp: Some(interface.nanoseconds(ticks)?),
            data: ENHANCED_PACKET_DATA..ENHANCED_PACKET_DATA + captured,
            original_bytes: packet.origlen,
            link_type: interface.link_type,
        })
    }

    fn simple_packet(&self, block: &[u8]) -> Result<Found, Fault> {
        let parse =
            if self.big_endian { parse_simplepacketblock_be } else { parse_simplepacketblock_le };
        let packet = parsed(parse(block), "a simple packet block")?;
        let interface = self.interface(0)?;
        let limit = if interface.snaplen == 0 { u32::MAX } else { interface.snaplen };
        let captured = (packet.origlen.min(limit) as usize).min(packet.data.len());
        Ok(Found {
            timestamp: None,
            data: SIMPLE_PACKET_DATA..SIMPLE_PACKET_DATA + captured,
            original_bytes: packet.origlen,
            link_type: interface.link_type,
        })
    }

    fn interface(&self, id: u32) -> Result<Interface, Fault> {
        self.interfaces.get(id as usize).copied().ok_or_else(|| {
            Fault::Malformed(format!(
                "a packet of interface {id}; the section describes {}",
                self.interfaces.len()
            ))
        })
    }
}

impl Interface {
    /// Converts a timestamp of the interface to nanoseconds since 1970.
    fn nanoseconds(&self, ticks: u64) -> Result<u64, Fault> {
        let since_offset = u128::from(ticks) * 1_000_000_000 / u128::from(self.units);
        // The result lies between -2^93 and 2^95, so the addition cannot overflow an i128.
        let since_1970 = since_offset as i128 + i128::from(self.offset) * 1_000_000_000;
        u64::try_from(since_1970)
            .map_err(|_| Fault::Malformed("a time stamp before 1970 or beyond 2554".into()))
    }
}

impl Fault {
    fn at(self, path: &Path, offset: u64) -> CaptureError {
        let path = path.to_owned();
        match self {
            Self::Io(source) => CaptureError::Io { path, source },
            Self::Truncated => CaptureError::Truncated { path, offset },
            Self::NotACapture => CaptureError::NotACapture { path },
            Self::Malformed(reason) => CaptureError::Malformed { path, offset, reason },
        }
    }
}

/// Returns the number of timestamp units per second. The option if_tsresol states the unit in
/// seconds as a negative power of 10, or of 2 if the highest bit of `resolution` is set.
fn units_per_second(resolution: u8) -> Result<u64, Fault> {
    let exponent = u32::from(resolution & 0x7f);
    let units = if resolution & 0x80 == 0 {
        10u64.checked_pow(exponent)
    } else {
        1u64.checked_shl(exponent)
    };
    units.ok_or_else(|| {
        Fault::Malformed(format!("time stamps in units that do not fit (if_tsresol {resolution})"))
    })
}

/// Converts the result of a parser. If the parser needs more data, this is an error in the file,
/// because the whole block is in memory.
fn parsed<'a, T>(
    result: IResult<&'a [u8], T, PcapError<&'a [u8]>>,
    what: &str,
) -> Result<T, Fault> {
    result
        .map(|(_, value)| value)
        .map_err(|_| Fault::Malformed(format!("{what} whose fields contradict its length")))
}

fn checked_block_length(length: u32) -> Result<usize, Fault> {
    if length < MIN_BLOCK {
        return Err(Fault::Malformed(format!(
            "a block length of {length}; the shortest block has {MIN_BLOCK} bytes"
        )));
    }
    checked_length(length)
}

fn checked_length(length: u32) -> Result<usize, Fault> {
    if length > MAX_BLOCK {
        return Err(Fault::Malformed(format!(
            "a length of {length} bytes; more than {MAX_BLOCK} is taken for damage"
        )));
    }
    Ok(length as usize)
}

/// Returns the 32-bit number at offset `at` in a block, or 0 if the block is too short, which
/// callers have excluded.
fn read_u32(block: &[u8], at: usize, big_endian: bool) -> u32 {
    let bytes = block.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default();
    if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
}
