//! The display of `planimeter switch --top`: the rates of devices, ports and tables, redrawn on the
//! terminal once per second.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::Duration;

use softswitch::{DeviceState, PortState};

/// The interval at which the display is redrawn.
pub(super) const INTERVAL: Duration = Duration::from_secs(1);
/// The escape sequence that switches the terminal to its alternate screen and hides the cursor.
const BEGIN: &str = "\x1b[?1049h\x1b[?25l";
/// The escape sequence that shows the cursor and leaves the alternate screen.
const END: &str = "\x1b[?25h\x1b[?1049l";
/// The escape sequence that moves the cursor to the upper left corner.
const HOME: &str = "\x1b[H";
/// The escape sequence that ends a line: clears the rest of it and moves the cursor to the next.
const CLEAR_LINE: &str = "\x1b[K\r\n";
/// The escape sequence that clears the screen after the cursor.
const CLEAR_BELOW: &str = "\x1b[J";

/// A display of a switch's activity on the alternate screen of the terminal. Dropping it restores
/// the normal screen.
#[derive(Debug)]
pub(super) struct Top {
    /// The state of the devices when the display was last drawn, from which rates are computed.
    before: Vec<DeviceState>,
}

impl Top {
    pub(super) fn begin(state: Vec<DeviceState>) -> Self {
        put(BEGIN);
        Self { before: state }
    }

    /// Draws `head` and, below it, the activity of all devices. Rates are averages over `elapsed`,
    /// which must be the time since the display was last drawn.
    pub(super) fn draw(&mut self, head: &str, state: Vec<DeviceState>, elapsed: Duration) {
        let rows = rustix::termios::tcgetwinsize(io::stdout()).map_or(24, |size| size.ws_row);
        let text = picture(&self.before, &state, elapsed);
        let mut screen = HOME.to_owned();
        let lines = [head, ""].into_iter().chain(text.lines());
        for line in lines.take(usize::from(rows.max(2)) - 1) {
            screen.push_str(line);
            screen.push_str(CLEAR_LINE);
        }
        screen.push_str(CLEAR_BELOW);
        put(&screen);
        self.before = state;
    }
}

impl Drop for Top {
    fn drop(&mut self) {
        put(END);
    }
}

/// Writes text to the terminal. Errors are ignored, because the switch must forward packets even if
/// the terminal is gone.
fn put(text: &str) {
    let mut stdout = io::stdout();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// Returns the text of the display. `before` and `now` are the states of the devices at the start
/// and the end of the time `elapsed`.
fn picture(before: &[DeviceState], now: &[DeviceState], elapsed: Duration) -> String {
    let mut out = String::new();
    for device in now {
        let earlier = before.iter().find(|earlier| earlier.id == device.id);
        // Writing to a string never fails.
        let _ = write_device(&mut out, earlier.unwrap_or(device), device, elapsed.as_secs_f64());
    }
    out
}

fn write_device(
    out: &mut String,
    before: &DeviceState,
    now: &DeviceState,
    seconds: f64,
) -> std::fmt::Result {
    let per_second = |now: u64, before: u64| rate(now.saturating_sub(before) as f64 / seconds);
    let (activity, earlier) = (&now.activity, &before.activity);
    writeln!(
        out,
        "Device {}: {} packets/s, {} controllers, {} pipelines,\n  {} entities written ({} refused)",
        now.id,
        per_second(now.packets.received, before.packets.received),
        activity.controllers,
        activity.pipelines,
        activity.writes,
        activity.writes_refused,
    )?;
    writeln!(
        out,
        "  packet-ins {}/s ({} dropped), packet-outs {}/s ({} dropped), digests {}/s",
        per_second(activity.packet_ins, earlier.packet_ins),
        activity.packet_ins_dropped,
        per_second(activity.packet_outs, earlier.packet_outs),
        activity.packet_outs_dropped,
        per_second(activity.digests, earlier.digests),
    )?;
    let faults = now.packets.errors.iter().map(|(kind, count)| format!(", {kind} {count}"));
    writeln!(
        out,
        "  dropped: by the program {}, no such port {}, port disabled {}{}",
        now.packets.without_output,
        activity.no_such_port,
        activity.port_disabled,
        faults.collect::<String>(),
    )?;
    writeln!(
        out,
        "\n  {:>5} {:<12} {:<5} {:>9} {:>11} {:>9} {:>11} {:>9}",
        "port", "name", "link", "in pkt/s", "in bit/s", "out pkt/s", "out bit/s", "dropped"
    )?;
    for port in &now.ports {
        let earlier = before.ports.iter().find(|earlier| earlier.number == port.number);
        write_port(out, earlier.unwrap_or(port), port, seconds)?;
    }
    write_queues(out, before, now, seconds)?;
    writeln!(
        out,
        "\n  {:<32} {:>9} {:>9} {:>6} {:>10} {:>7}",
        "table", "entries", "size", "full", "lookups/s", "hits"
    )?;
    for table in &now.tables {
        let earlier = before.tables.iter().find(|earlier| earlier.id == table.id);
        let earlier = earlier.unwrap_or(table);
        let hits = table.hits.saturating_sub(earlier.hits);
        let lookups = hits + table.misses.saturating_sub(earlier.misses);
        let share = |part: u64, whole: u64| match whole {
            0 => "-".to_owned(),
            whole => format!("{:.0} %", 100.0 * part as f64 / whole as f64),
        };
        let size = table.size.filter(|size| *size > 0);
        let name = beside(out, "", &table.name, 32)?;
        writeln!(
            out,
            "  {:<32} {:>9} {:>9} {:>6} {:>10} {:>7}",
            name,
            table.entries,
            size.map_or_else(|| "-".to_owned(), |size| size.to_string()),
            size.map_or_else(|| "-".to_owned(), |size| share(table.entries, size)),
            rate(lookups as f64 / seconds),
            share(hits, lookups),
        )?;
    }
    writeln!(out)
}

fn write_port(
    out: &mut String,
    before: &PortState,
    now: &PortState,
    seconds: f64,
) -> std::fmt::Result {
    let (counters, earlier) = (&now.counters, &before.counters);
    let per_second = |now: u64, before: u64, factor: f64| {
        rate(factor * now.saturating_sub(before) as f64 / seconds)
    };
    let name = beside(out, "      ", &now.name, 12)?;
    writeln!(
        out,
        "  {:>5} {:<12} {:<5} {:>9} {:>11} {:>9} {:>11} {:>9}",
        now.number,
        name,
        match (now.enabled, now.up) {
            (false, _) => "off",
            (true, true) => "up",
            (true, false) => "down",
        },
        per_second(counters.received_packets, earlier.received_packets, 1.0),
        per_second(counters.received_bytes, earlier.received_bytes, 8.0),
        per_second(counters.transmitted_packets, earlier.transmitted_packets, 1.0),
        per_second(counters.transmitted_bytes, earlier.transmitted_bytes, 8.0),
        counters.receive_dropped + counters.transmit_dropped + counters.bad_length,
    )?;
    match now.recording_fault {
        Some(fault) => writeln!(out, "        its capture has ended: {fault}"),
        None => Ok(()),
    }
}

/// Writes the lines about queues of ports, if there are any.
fn write_queues(
    out: &mut String,
    before: &DeviceState,
    now: &DeviceState,
    seconds: f64,
) -> std::fmt::Result {
    if now.queues.queues.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\n  {:>5} {:>5} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "port", "queue", "in pkt/s", "out pkt/s", "dropped", "marked", "waiting", "deepest"
    )?;
    for (port, queue, counts) in &now.queues.queues {
        let mut queues = before.queues.queues.iter();
        let earlier = queues.find(|(of, number, _)| (of, number) == (port, queue));
        let earlier = earlier.map_or(counts, |(_, _, counts)| counts);
        let per_second = |now: u64, before: u64| rate(now.saturating_sub(before) as f64 / seconds);
        writeln!(
            out,
            "  {:>5} {:>5} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
            port,
            queue,
            per_second(counts.enqueued, earlier.enqueued),
            per_second(counts.sent, earlier.sent),
            counts.dropped() + counts.dropped_behind,
            counts.marked,
            counts.waiting,
            counts.deepest,
        )?;
    }
    Ok(())
}

/// Returns the name for the first column of a table row. If `name` has more than `most` characters,
/// it is written to `out` on a line of its own, and the returned name is empty.
fn beside<'n>(
    out: &mut String,
    indent: &str,
    name: &'n str,
    most: usize,
) -> Result<&'n str, std::fmt::Error> {
    if name.chars().count() <= most {
        return Ok(name);
    }
    writeln!(out, "  {indent}{name}")?;
    Ok("")
}

/// Formats a rate: below 1,000 as an integer, otherwise with three significant digits and the unit
/// prefix k, M or G.
fn rate(value: f64) -> String {
    let units = [(1e9, " G"), (1e6, " M"), (1e3, " k")];
    match units.iter().find(|(size, _)| value >= *size * 0.9995) {
        Some((size, unit)) => {
            let scaled = value / size;
            let digits = if scaled >= 99.95 {
                0
            } else if scaled >= 9.995 {
                1
            } else {
                2
            };
            format!("{scaled:.digits$}{unit}")
        }
        None => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use softswitch::Activity;

    fn port(
        number: u32,
        name: &str,
        counters: packetio::Counters,
        recording_fault: Option<io::ErrorKind>,
    ) -> PortState {
        let (name, up) = (name.to_owned(), number == 1);
        PortState { number, name, up, enabled: true, counters, recording_fault }
    }

    fn state(packets: u64) -> DeviceState {
        let counters = packetio::Counters {
            received_packets: packets,
            received_bytes: 100 * packets,
            transmit_dropped: 3,
            ..Default::default()
        };
        let table = |name: &str, size, hits, misses| pipeline::TableUsage {
            id: entities::schema::TableId(1),
            name: name.to_owned(),
            entries: 512,
            size,
            hits,
            misses,
        };
        DeviceState {
            id: 1,
            activity: Activity {
                controllers: 2,
                writes: 600,
                packet_ins: packets / 10,
                ..Activity::default()
            },
            packets: pipeline::PacketCounts {
                received: packets,
                without_output: 5,
                errors: [("step limit", 2)].into(),
            },
            tables: vec![table("Ingress.stations", Some(1024), 3 * packets / 4, packets / 4)],
            ports: vec![
                port(1, "veth0", counters, None),
                port(2, "veth1", Default::default(), Some(io::ErrorKind::StorageFull)),
            ],
            ..DeviceState::default()
        }
    }

    #[test]
    fn rates_are_since_the_last_picture() {
        let text = picture(&[state(1_000)], &[state(25_000)], Duration::from_secs(2));
        insta::assert_snapshot!(text);
    }

    /// The display fits on a terminal of 80 columns, because long names have lines of their own.
    #[test]
    fn no_line_is_wider_than_80_columns() {
        let mut busy = state(u64::from(u32::MAX));
        busy.tables[0].name =
            "MyIngress.a_table_whose_name_is_rather_long_for_its_column".to_owned();
        busy.ports[0].name = "a-long-name-0123".to_owned();
        busy.activity.writes = 4_000_000_000;
        busy.activity.writes_refused = 4_000_000_000;
        let text = picture(&[state(1_000)], &[busy], Duration::from_secs(1));
        assert!(text.contains("rather_long_for_its_column\n"), "{text}");
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }

    #[test]
    fn queues_are_shown_if_there_are_any() {
        let counts = |enqueued, sent| queues::QueueCounts {
            enqueued,
            sent,
            dropped_depth: 3,
            dropped_behind: 1,
            marked: 2,
            waiting: 7,
            deepest: 64,
            ..queues::QueueCounts::default()
        };
        let state = |counts| {
            let queues = softswitch::QueueState {
                queues: vec![(2, 0, counts)],
                ..softswitch::QueueState::default()
            };
            DeviceState { queues, ..state(0) }
        };
        let (before, now) = (state(counts(100, 80)), state(counts(3_100, 3_080)));
        let text = picture(&[before], &[now], Duration::from_secs(2));
        let lines: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        let row = vec!["2", "0", "1.50", "k", "1.50", "k", "4", "2", "7", "64"];
        assert!(lines.contains(&row), "{text}");
    }

    #[test]
    fn rates_have_three_digits() {
        let shown = [0.0, 7.4, 999.0, 1_000.0, 12_345.0, 999_600.0, 1.5e9].map(rate);
        assert_eq!(shown, ["0", "7", "999", "1.00 k", "12.3 k", "1.00 M", "1.50 G"]);
    }
}
