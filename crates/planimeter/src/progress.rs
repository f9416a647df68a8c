//! The progress of a run on the terminal: a bar that counts steps, or a line with the activity of
//! emulated switches. It is drawn on standard error, and only on a terminal. A program that started
//! the command may receive it as [`lines`] of JSON too.

pub(crate) mod lines;

use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use probe::{Live, Phase};

/// A progress bar with the number of finished steps and a description of the current step.
pub(crate) struct Steps(ProgressBar);

impl Steps {
    /// Creates a progress bar. With `quiet`, nothing is drawn.
    pub(crate) fn new(quiet: bool) -> Self {
        let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new(0) };
        let template = "{bar:20} {pos}/{len}, {eta} left  {wide_msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self(bar)
    }

    pub(crate) fn show(&self, done: u64, of: u64, what: impl Into<String>) {
        let Self(bar) = self;
        let what: String = what.into();
        lines::write(done, of, &what);
        // If the number of finished steps decreases, steps of another kind have begun, each of
        // which takes another time. The estimate of the remaining time is therefore reset.
        if done < bar.position() {
            bar.reset_eta();
        }
        bar.set_length(of);
        bar.set_position(done);
        bar.set_message(what);
        bar.tick();
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Does work that takes long for large inputs, and returns its result. If the work takes more than
/// a second, shows how many of its `of` items are finished, according to `done`. On a terminal this
/// is a progress bar, and otherwise a message each minute.
pub(crate) fn while_counting<R>(
    of: usize,
    what: &str,
    done: impl Fn() -> usize + Sync,
    work: impl FnOnce() -> R,
) -> R {
    let (at_work, ended) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let done = &done;
        scope.spawn(move || {
            let wait = |time| ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
            if !wait(SOON) {
                return;
            }
            if !std::io::stderr().is_terminal() {
                let begin = Instant::now();
                while wait(MINUTE) {
                    eprintln!("planimeter: {}", so_far(done(), of, what, begin.elapsed()));
                }
                return;
            }
            let steps = Steps::new(false);
            let show = || steps.show(done() as u64, of as u64, what);
            show();
            while wait(REFRESH) {
                show();
            }
        });
        let found = work();
        drop(at_work);
        found
    })
}

/// Returns a text with the number of finished items, and with the remaining time if the work
/// continues at the same pace.
fn so_far(done: usize, of: usize, what: &str, elapsed: Duration) -> String {
    let left = match done {
        0 => String::new(),
        done => {
            let rest = of.saturating_sub(done) as f64 / done as f64;
            format!(", about {} left", indicatif::HumanDuration(elapsed.mul_f64(rest)))
        }
    };
    format!("{done} of {of} {what}{left}")
}

/// A progress line with the activity of emulated switches, which is redrawn until this value is
/// dropped.
pub(crate) struct Progress {
    bar: ProgressBar,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    /// The name of the larger task to which all trials belong, followed by a colon (empty if there
    /// is none).
    about: String,
    /// The description of the current trial. It is at the end of the progress line, because narrow
    /// terminals cut the line.
    trial: Arc<Mutex<String>>,
}

/// The interval at which a line of progress is redrawn on a terminal.
const REFRESH: Duration = Duration::from_millis(250);
/// The interval of progress messages if standard error is not a terminal. Only on a terminal can a
/// line be redrawn instead.
const MINUTE: Duration = Duration::from_secs(60);
/// The time after which unfinished work shows its progress.
const SOON: Duration = Duration::from_secs(1);

impl Progress {
    /// Starts to draw the progress line, with the activity that `live` counts. With `quiet`,
    /// nothing is drawn.
    pub(crate) fn start(live: Arc<Live>, quiet: bool) -> Self {
        let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
        if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix}{wide_msg}") {
            bar.set_style(style);
        }
        let stop = Arc::new(AtomicBool::new(false));
        let trial = Arc::new(Mutex::new(String::new()));
        let thread = spawn({
            let (bar, stop, trial) = (bar.clone(), stop.clone(), trial.clone());
            move || redraw(&bar, &live, &stop, &trial)
        });
        Self { bar, stop, thread: Some(thread), about: String::new(), trial }
    }

    /// Shows `what` on the progress line. It is the name of a larger task, which consists of all
    /// trials.
    pub(crate) fn about(mut self, what: &str) -> Self {
        self.about = format!("{what}: ");
        self
    }

    /// Shows a trial on the progress line: its number, the planned number of trials if there is
    /// one, and its description.
    pub(crate) fn trial(&self, number: u32, planned: Option<u32>, description: &str) {
        let of = planned.map(|planned| format!(" of {planned}")).unwrap_or_default();
        self.bar.set_prefix(format!("{}trial {number}{of}: ", self.about));
        description.clone_into(&mut self.trial.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Prints a line of text above the progress line.
    pub(crate) fn line(&self, text: &str) {
        if self.bar.is_hidden() {
            eprintln!("{text}");
        } else {
            self.bar.println(text);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}

fn redraw(bar: &ProgressBar, live: &Live, stop: &AtomicBool, trial: &Mutex<String>) {
    let mut before = (Instant::now(), live.sent(), live.answered());
    while !stop.load(Ordering::Relaxed) {
        sleep(REFRESH);
        let now = (Instant::now(), live.sent(), live.answered());
        let seconds = (now.0 - before.0).as_secs_f64();
        let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        let what = message(live, rate(now.1, before.1), rate(now.2, before.2));
        let trial = trial.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let both = [what, trial].into_iter().filter(|part| !part.is_empty());
        let shown = both.collect::<Vec<_>>().join("; ");
        lines::write(0, 0, &format!("{}{shown}", bar.prefix()));
        bar.set_message(shown);
        bar.tick();
        before = now;
    }
}

fn message(live: &Live, sent: f64, answered: f64) -> String {
    let traffic = || {
        let outstanding = live.sent().saturating_sub(live.answered());
        format!("{sent:.0} sent/s, {answered:.0} answered/s, {outstanding} outstanding")
    };
    match live.phase() {
        Phase::Idle => String::new(),
        Phase::Connecting => format!("connecting: {} of {} ready", live.ready(), live.wanted()),
        Phase::Settling => format!("settling: {} switches ready", live.ready()),
        Phase::WarmingUp => format!("warm-up: {}", traffic()),
        Phase::Measuring => format!("measuring: {}", traffic()),
        Phase::Draining => format!("draining: {}", traffic()),
        Phase::Done => "done".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remaining_time_follows_from_the_pace() {
        let after = Duration::from_secs(60);
        assert_eq!(so_far(0, 40, "flows are bounded", after), "0 of 40 flows are bounded");
        assert_eq!(
            so_far(10, 40, "flows are bounded", after),
            "10 of 40 flows are bounded, about 3 minutes left"
        );
    }
}
