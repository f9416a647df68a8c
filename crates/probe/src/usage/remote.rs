//! Samples the CPU time and memory of processes on another host, by a script that a shell there
//! runs.
//!
//! One `ssh` process runs for as long as the sampler lives. Its remote command is `exec sh -s`, and
//! the script that prints process times is sent over standard input. The name to search for is
//! therefore on no command line there, and cannot match the shell itself. The script uses only
//! shell builtins and `sleep`: nothing must be installed on the other host, and watching costs it
//! little CPU time. The command that starts the shell is a parameter, so that tests can run the
//! script on this host.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::meter::{Meter, ProcessTimes, Snapshot, Units};
use super::{Sample, UsageError};
use crate::config::ProcessSelector;

/// The first line that the script prints. Its digit is incremented when the format of the lines
/// changes.
const GREETING: &str = "planimeter-usage-1";
/// The maximum number of lines before the greeting, which other programs, such as a login script,
/// may print.
const JUNK_LIMIT: usize = 100;
/// The maximum length in bytes of a line that is accepted from the other host.
const LINE_LIMIT: u64 = 16 * 1024;
/// The maximum number of processes in one snapshot.
const PROCESS_LIMIT: usize = 100_000;
/// The number of bytes of the shell's standard error that are kept for error messages.
const SAID_LIMIT: usize = 1000;
/// The time to wait for a shell to end after it has closed its output.
const END_PATIENCE: Duration = Duration::from_secs(1);

/// A sampler of processes on another host.
#[derive(Debug)]
pub(super) struct Remote {
    target: String,
    shell: Shell,
    snapshots: Receiver<Snapshot>,
    ended: bool,
    meter: Meter,
    stale_after: Duration,
    /// The last sample, and the time at which it was taken from the channel. `None` while no
    /// process matches.
    latest: Option<(Instant, Sample)>,
    seen: Vec<(u32, String)>,
}

impl Remote {
    /// Starts the script on the other host, and waits until it prints its greeting.
    pub(super) fn start(
        command: Command,
        target: &str,
        process: &ProcessSelector,
        interval: Duration,
        patience: Duration,
    ) -> Result<Self, UsageError> {
        let script = script(target, process, interval)?;
        let (mut shell, stdout) = Shell::spawn(command, script, target)?;
        let (greeter, greeting) = sync_channel(1);
        let (sender, snapshots) = sync_channel(1024);
        thread::spawn(move || read(stdout, &greeter, &sender));
        let target = target.to_owned();
        let units = match greeting.recv_timeout(patience) {
            Ok(Ok(units)) => units,
            Ok(Err(answer)) => return Err(UsageError::Garbled { target, answer }),
            Err(RecvTimeoutError::Timeout) => {
                let seconds = patience.as_secs_f64();
                return Err(UsageError::Silent { target, seconds, said: shell.said() });
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = shell.end();
                return Err(UsageError::Ended { target, status, said: shell.said() });
            }
        };
        Ok(Self {
            target,
            shell,
            snapshots,
            ended: false,
            meter: Meter::new(units),
            stale_after: (3 * interval).max(Duration::from_secs(1)),
            latest: None,
            seen: Vec::new(),
        })
    }

    pub(super) fn sample(&mut self, now: Instant) -> Option<Sample> {
        loop {
            match self.snapshots.try_recv() {
                Ok(snapshot) => self.take(snapshot, now),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    self.ended = true;
                    break;
                }
            }
        }
        let (fetched, sample) = self.latest?;
        (now.saturating_duration_since(fetched) <= self.stale_after).then_some(sample)
    }

    pub(super) fn seen(&self) -> &[(u32, String)] {
        &self.seen
    }

    pub(super) fn failure(&self) -> Option<String> {
        self.ended.then(|| format!("ssh {} ended{}", self.target, colon(&self.shell.said())))
    }

    /// Waits for the next snapshot, and computes a sample from it, for tests.
    #[cfg(test)]
    pub(super) fn receive(&mut self) {
        let patience = Duration::from_secs(20);
        let snapshot = self.snapshots.recv_timeout(patience).expect("a snapshot");
        self.take(snapshot, Instant::now());
    }

    fn take(&mut self, snapshot: Snapshot, now: Instant) {
        self.latest = self.meter.observe(&snapshot).map(|sample| (now, sample));
        self.seen = snapshot.processes.into_iter().map(|p| (p.pid, p.name)).collect();
    }
}

/// A running shell on the other host. It is killed when this value is dropped.
#[derive(Debug)]
struct Shell {
    child: Child,
    /// The last bytes that the shell wrote to standard error.
    said: Arc<Mutex<Vec<u8>>>,
    /// A channel that is disconnected once all of the shell's standard error has been read.
    said_all: Receiver<()>,
}

impl Shell {
    /// Starts a shell on the other host and passes it the script.
    fn spawn(
        mut command: Command,
        script: String,
        target: &str,
    ) -> Result<(Self, ChildStdout), UsageError> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let program = command.get_program().to_string_lossy().into_owned();
        let failed = |source| UsageError::Spawn { program, target: target.to_owned(), source };
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => return Err(failed(error)),
        };
        let said = Arc::new(Mutex::new(Vec::new()));
        let (saying, said_all) = sync_channel(0);
        if let Some(stderr) = child.stderr.take() {
            let said = Arc::clone(&said);
            thread::spawn(move || {
                listen(stderr, &said);
                drop(saying);
            });
        }
        if let Some(mut stdin) = child.stdin.take() {
            // If the other side is gone already, its standard error explains why.
            thread::spawn(move || stdin.write_all(script.as_bytes()));
        }
        let stdout = child.stdout.take();
        let shell = Self { child, said, said_all };
        match stdout {
            Some(stdout) => Ok((shell, stdout)),
            None => Err(failed(std::io::ErrorKind::BrokenPipe.into())),
        }
    }

    /// Waits briefly for the shell to end by itself, and otherwise kills it. Returns its exit
    /// status as text.
    fn end(&mut self) -> String {
        let deadline = Instant::now() + END_PATIENCE;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.said_all.recv_timeout(END_PATIENCE);
        self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string())
    }

    /// Returns the last bytes that the shell wrote to standard error, as one line.
    fn said(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&said).split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // The script on the other host ends at its next line of output, which has no reader. The
        // threads end with the pipes. A `sleep` of the script may keep the pipes open a little
        // longer, so the threads are not joined.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a message with a colon and a space before it, or nothing for an empty message.
pub(super) fn colon(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(": {said}") }
}

fn listen(mut stderr: ChildStderr, said: &Mutex<Vec<u8>>) {
    let mut chunk = [0; 512];
    while let Ok(length @ 1..) = stderr.read(&mut chunk) {
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        said.extend_from_slice(chunk.get(..length).unwrap_or(&[]));
        let excess = said.len().saturating_sub(SAID_LIMIT);
        said.drain(..excess);
    }
}

/// Reads the output of the script until it ends. Sends the units to `greeter`, and then each
/// snapshot to `snapshots`.
fn read(
    stdout: impl Read,
    greeter: &SyncSender<Result<Units, String>>,
    snapshots: &SyncSender<Snapshot>,
) {
    let mut reader = BufReader::new(stdout);
    let mut stream = Stream::default();
    let mut junk: Vec<String> = Vec::new();
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        match reader.by_ref().take(LINE_LIMIT).read_until(b'\n', &mut bytes) {
            Ok(1..) => {}
            Ok(0) | Err(_) => break,
        }
        let line = String::from_utf8_lossy(&bytes);
        match stream.line(line.trim_end()) {
            Some(Event::Units(units)) => {
                let _ = greeter.send(Ok(units));
                junk.clear();
            }
            // The channel is full if the caller does not fetch samples at the moment.
            Some(Event::Snapshot(snapshot)) => {
                let _ = snapshots.try_send(snapshot);
            }
            None if !stream.greeted() => junk.push(line.trim_end().to_owned()),
            None => {}
        }
        if junk.len() > JUNK_LIMIT {
            break;
        }
    }
    if let Some(first) = junk.into_iter().next() {
        let _ = greeter.send(Err(first));
    }
}

/// A part of the script's output that has been read completely.
enum Event {
    Units(Units),
    Snapshot(Snapshot),
}

/// A parser of the script's output. The output begins with a greeting that contains the clock ticks
/// per second and the bytes per page. For each snapshot it has a line `t` with `/proc/uptime`, a
/// line `p` with `/proc/PID/stat` for each process, and a line `.`.
#[derive(Default)]
struct Stream {
    units: Option<Units>,
    uptime: Option<f64>,
    processes: Vec<ProcessTimes>,
}

impl Stream {
    fn greeted(&self) -> bool {
        self.units.is_some()
    }

    /// Processes one line of the script's output. Returns the units or the snapshot that the line
    /// completes, or `None` if it completes neither.
    fn line(&mut self, line: &str) -> Option<Event> {
        let Some(units) = self.units else {
            let mut words = line.strip_prefix(GREETING)?.split_ascii_whitespace();
            let ticks_per_second: u32 = words.next()?.parse().ok().filter(|ticks| *ticks > 0)?;
            let page_bytes = words.next()?.parse().ok()?;
            let units = Units { ticks_per_second: ticks_per_second.into(), page_bytes };
            self.units = Some(units);
            return Some(Event::Units(units));
        };
        match line.split_once(' ').unwrap_or((line, "")) {
            ("t", uptime) => {
                let seconds = uptime.split_ascii_whitespace().next().and_then(|s| s.parse().ok());
                self.uptime = seconds.filter(|seconds| (0.0..1e10).contains(seconds));
                self.processes.clear();
            }
            ("p", stat) if self.processes.len() < PROCESS_LIMIT => {
                self.processes.extend(ProcessTimes::parse(stat));
            }
            (".", "") => {
                let seconds = self.uptime.take()?;
                return Some(Event::Snapshot(Snapshot {
                    at: Duration::from_secs_f64(seconds),
                    uptime: (seconds * units.ticks_per_second) as u64,
                    processes: std::mem::take(&mut self.processes),
                }));
            }
            _ => {}
        }
        None
    }
}

/// Returns the script that a POSIX shell on the other host runs.
///
/// The shell's `read` drops the zero bytes between the arguments of a command line, so command
/// lines are also searched for the name without its spaces.
fn script(
    target: &str,
    process: &ProcessSelector,
    interval: Duration,
) -> Result<String, UsageError> {
    let (pid, text) = match process {
        ProcessSelector::Pid(pid) => (pid.to_string(), ""),
        ProcessSelector::Name(text) if text.trim().is_empty() => return Err(UsageError::EmptyName),
        ProcessSelector::Name(text) => (String::new(), text.as_str()),
        ProcessSelector::Listener => return Err(UsageError::Unresolved),
        ProcessSelector::Ssh { target: second, .. } => {
            return Err(UsageError::NestedSsh { first: target.to_owned(), second: second.clone() });
        }
    };
    let seconds = interval.as_secs_f64().max(0.01);
    let squeezed: String = text.split_whitespace().collect();
    Ok(format!(
        r#"
text={text}
squeezed={squeezed}
pids='{pid}'
every={every}
ticks=$(getconf CLK_TCK 2>/dev/null) || ticks=100
page=$(getconf PAGESIZE 2>/dev/null) || page=4096
printf '%s %s %s\n' {GREETING} "$ticks" "$page" || exit 1
left=0
while :; do
  if [ -n "$text" ] && [ "$left" -le 0 ]; then
    left=$every
    pids=
    for folder in /proc/[0-9]*; do
      pid=${{folder#/proc/}}
      [ "$pid" = "$$" ] && continue
      stat=
      line=
      {{ read -r stat <"$folder/stat"; }} 2>/dev/null
      {{ read -r line <"$folder/cmdline"; }} 2>/dev/null
      name=${{stat#*\(}}
      name=${{name%\)*}}
      case $name in *"$text"*) pids="$pids $pid"; continue ;; esac
      case $line in *"$text"* | *"$squeezed"*) pids="$pids $pid" ;; esac
    done
  fi
  left=$((left - 1))
  uptime=
  {{ read -r uptime </proc/uptime; }} 2>/dev/null
  printf 't %s\n' "$uptime" || exit 1
  for pid in $pids; do
    stat=
    {{ read -r stat <"/proc/$pid/stat"; }} 2>/dev/null && printf 'p %s\n' "$stat"
  done
  printf '.\n' || exit 1
  sleep {seconds} 2>/dev/null || sleep 1 || exit 1
done
"#,
        text = quoted(text),
        squeezed = quoted(&squeezed),
        every = (2.0 / seconds).ceil(),
    ))
}

/// Quotes a text so that a POSIX shell takes it literally.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "S 1 1 1 0 -1 0 1 2 3 4 120 30 7 8 20 0 9 0 5555 1000000 250 18446744";

    #[test]
    fn the_output_of_the_script_is_parsed() {
        let mut stream = Stream::default();
        assert!(stream.line("Welcome to this host").is_none());
        assert!(stream.line("t 1.0 2.0").is_none());
        assert!(!stream.greeted());
        assert!(stream.line(&format!("{GREETING} 0 4096")).is_none());
        let Some(Event::Units(units)) = stream.line(&format!("{GREETING} 250 16384")) else {
            panic!("no greeting");
        };
        assert_eq!(units, Units { ticks_per_second: 250.0, page_bytes: 16384 });
        for line in ["p 9 (lost) S 1", "t 100.50 7.0", &format!("p 9 (a b) {STAT}"), "p nonsense"] {
            assert!(stream.line(line).is_none());
        }
        let Some(Event::Snapshot(snapshot)) = stream.line(".") else { panic!("no snapshot") };
        assert_eq!((snapshot.at, snapshot.uptime), (Duration::from_millis(100_500), 25_125));
        assert_eq!(snapshot.processes.len(), 1);
        // An end without a beginning, and invalid times.
        for line in [".", "t never", ".", "t -1", ".", "t 1e300", ".", "", "x y z"] {
            assert!(stream.line(line).is_none(), "{line}");
        }
    }

    #[test]
    fn a_quoted_text_is_one_word_of_the_shell() {
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
    }
}
