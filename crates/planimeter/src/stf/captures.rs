//! `--pcap-in` and `--pcap-out`: reads packets for a switch from captures, and writes its packets
//! to captures.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::Duration;

use packetio::pcap::{CaptureReader, CaptureWriter, LinkType};
use pipeline::Switch;
use stf::Report;

use crate::failure::Failure;

/// Parses the value `PORT=FILE` of `--pcap-in`.
pub(super) fn port_and_file(text: &str) -> Result<(u32, PathBuf), String> {
    let (port, file) = text.split_once('=').ok_or("it has the form PORT=FILE")?;
    let port = port.parse().map_err(|_| format!("`{port}` is not a port number"))?;
    Ok((port, PathBuf::from(file)))
}

/// Sends the packets of a capture to a port of the switch, and adds the results to `report`. The
/// first packet is sent one second after the last one in the report, and the times between the
/// packets are those of the capture.
pub(super) fn replay(
    switch: &mut Switch,
    port: u32,
    path: &Path,
    report: &mut Report,
) -> Result<(), Failure> {
    let wrong =
        |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", path.display()));
    let mut reader = CaptureReader::open(path).map_err(|error| wrong(&error))?;
    let start =
        report.received.last().map_or(Duration::ZERO, |(time, ..)| *time) + Duration::from_secs(1);
    let (mut first, mut now) = (None, start);
    while let Some(frame) = reader.next_frame().map_err(|error| wrong(&error))? {
        if let Some(time) = frame.timestamp {
            let first = *first.get_or_insert(time);
            now = now.max(start + Duration::from_nanos(time.saturating_sub(first)));
        }
        report.received.push((now, port, frame.data.to_vec()));
        let outputs = switch.process(port, frame.data, now).map_err(|error| wrong(&error))?;
        switch.answer_entry_changes();
        // The outputs belong to no line of the script.
        report.causes.extend(outputs.iter().map(|_| 0));
        report.sent.extend(outputs.into_iter().map(|output| (now, output.port, output.packet)));
    }
    Ok(())
}

/// Returns the folder for the captures of each script. It is `directory` itself if there is only
/// one script, and otherwise a folder in it with the name of the script.
pub(super) fn folders(directory: &Path, scripts: &[PathBuf]) -> Vec<PathBuf> {
    if scripts.len() == 1 {
        return vec![directory.to_owned()];
    }
    let mut folders: Vec<PathBuf> = Vec::new();
    for script in scripts {
        let name = script.file_stem().unwrap_or_default().to_string_lossy();
        let mut folder = directory.join(name.as_ref());
        // Scripts of different directories may have one name.
        let mut number = 2;
        while folders.contains(&folder) {
            folder = directory.join(format!("{name}-{number}"));
            number += 1;
        }
        folders.push(folder);
    }
    folders
}

/// The packets that passed ports in one direction, each with its time, its port and its data.
type Passed<P> = Vec<(Duration, P, Vec<u8>)>;

/// Writes one capture for each port and direction: `NAME_in.pcap` for received packets and
/// `NAME_out.pcap` for sent ones, as BMv2 names captures of an interface. `name` returns the `NAME`
/// of a port.
pub(super) fn write<P: Copy + Ord>(
    directory: &Path,
    [received, sent]: [&Passed<P>; 2],
    name: impl Fn(P) -> String,
) -> Result<(), Failure> {
    let wrong =
        |path: &Path, error: std::io::Error| Failure::input(format!("{}: {error}", path.display()));
    std::fs::create_dir_all(directory).map_err(|error| wrong(directory, error))?;
    for (direction, packets) in [("in", received), ("out", sent)] {
        let mut by_port: BTreeMap<P, Vec<(Duration, &[u8])>> = BTreeMap::new();
        for (time, port, packet) in packets {
            by_port.entry(*port).or_default().push((*time, packet));
        }
        for (port, packets) in by_port {
            // The name of a switch may contain the separator of paths.
            let name = name(port).replace('/', "_");
            let path = directory.join(format!("{name}_{direction}.pcap"));
            let capture = File::create(&path).and_then(|file| {
                let mut writer = CaptureWriter::new(BufWriter::new(file), LinkType::ETHERNET)?;
                for (time, packet) in packets {
                    writer
                        .write_frame(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), packet)?;
                }
                writer.finish().map(|_| ())
            });
            capture.map_err(|error| wrong(&path, error))?;
        }
    }
    Ok(())
}
