//! The observation of one request with its probes, and the figures derived from it.

use super::answer::Timing;
use super::batch::Batch;
use super::bracket::{Bracket, Flap, Transition};
use super::excess::{Excess, Window};
use super::probe::{Class, Classes, Fate, Probe, Silence, read_silence};
use super::time::{Gap, Range, Span};

/// A request whose updates were accepted, and the probes of its rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The moment at which the request was handed to the connection.
    pub request: Span,
    /// The moment at which the answer arrived.
    pub answer: Span,
    /// The probes of each rule, in the order of the updates in the request.
    pub rules: Vec<Vec<Probe>>,
    /// The states of the rules in which the switch drops the probes.
    pub silence: Silence,
}

/// The changes of a request's rules in the data plane, as its probe packets show them.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// The time from the request to its answer.
    pub answered: Range,
    /// The change of each rule, in the order of the updates in the request.
    pub transitions: Vec<Transition>,
    request: Span,
    answer: Span,
    /// The comparison of when the rules of the request changed. `None` if there are fewer than two
    /// rules, or if not every rule changed exactly once.
    pub batch: Option<Batch>,
    /// The numbers, by class, of the probes that the switch had processed before the request: they
    /// were sent before it by more than the longest delay of a probe.
    pub control: Classes,
    /// The numbers of all other probes by class.
    pub changes: Classes,
    /// Whether probes leave the switch in both states of the rules, so that a missing probe was
    /// lost and not dropped on purpose.
    pub shows_losses: bool,
}

impl Observation {
    /// Evaluates the probes of the request.
    #[must_use]
    pub fn assess(mut self) -> Assessment {
        let longest = self.longest_delay();
        for probes in &mut self.rules {
            read_silence(probes, self.silence, longest);
        }
        let transitions: Vec<Transition> =
            self.rules.iter().map(|probes| Transition::of(probes)).collect();
        let brackets: Option<Vec<Bracket>> = transitions.iter().map(Transition::once).collect();
        let batch = brackets.filter(|brackets| brackets.len() > 1);
        let probes = || self.rules.iter().flatten();
        // A probe that was sent before this moment was processed before the request.
        let begin = self.request.earliest.after(Gap(longest.0.saturating_neg()));
        let is_control = |probe: &&Probe| probe.sent.latest < begin;
        Assessment {
            answered: self.answer.since(self.request).of_effect(),
            transitions,
            request: self.request,
            answer: self.answer,
            batch: batch.and_then(|brackets| Batch::of(&brackets)),
            control: Classes::of(probes().filter(is_control)),
            changes: Classes::of(probes().filter(|probe| !is_control(probe))),
            shows_losses: self.silence == Silence::Neither,
        }
    }

    /// Returns the longest time from the sending of a probe to its arrival, among the probes that
    /// met the old or the new state. Returns 0 if there are none.
    fn longest_delay(&self) -> Gap {
        let delays = self.rules.iter().flatten().filter_map(|probe| match probe.fate {
            Fate::Arrived { at, class: Class::Old | Class::New } => {
                Some(at.latest.since(probe.sent.earliest))
            }
            _ => None,
        });
        delays.max().unwrap_or_default()
    }
}

impl Transition {
    /// Returns the bracket of a rule that changed once.
    #[must_use]
    pub fn once(&self) -> Option<Bracket> {
        match self {
            Self::Once(bracket) => Some(*bracket),
            Self::Flapped(_) | Self::Unbounded => None,
        }
    }

    /// Returns the proof that a rule changed more than once; `None` if there is none.
    #[must_use]
    pub fn flap(&self) -> Option<Flap> {
        match self {
            Self::Flapped(flap) => Some(*flap),
            Self::Once(_) | Self::Unbounded => None,
        }
    }
}

impl Assessment {
    /// Returns the brackets of the rules that changed once.
    pub fn brackets(&self) -> impl Iterator<Item = Bracket> {
        self.transitions.iter().filter_map(Transition::once)
    }

    /// Returns, for each rule that changed once, whether the answer came before or after packets
    /// obeyed the rule, or that the probes do not decide this.
    pub fn timings(&self) -> impl Iterator<Item = Timing> {
        self.brackets().map(|bracket| Timing::of(bracket, self.answer))
    }

    /// Returns the moment from which packets obeyed all rules of the request, or `None` unless each
    /// rule changed exactly once.
    ///
    /// A request has only one such moment, because rules of one request often change together, so
    /// that their moments are not independent samples.
    #[must_use]
    pub fn obeyed(&self) -> Option<Span> {
        let brackets: Option<Vec<Bracket>> =
            self.transitions.iter().map(Transition::once).collect();
        let brackets = brackets?;
        // The last rule changed after the latest of all lower ends.
        let earliest = brackets.iter().map(|bracket| bracket.after).max()?;
        let latest = brackets.iter().map(|bracket| bracket.until).max()?;
        Some(Span { earliest, latest })
    }

    /// Returns bounds on the time from the answer until packets obeyed all rules of the request.
    /// The time is negative if packets obeyed before the answer. Returns `None` if [`Self::obeyed`]
    /// does.
    #[must_use]
    pub fn from_answer(&self) -> Option<Range> {
        Some(self.obeyed()?.since(self.answer))
    }

    /// Returns bounds on the time from the moment at which the request was handed to the connection
    /// until packets obeyed all rules of the request. Negative bounds are replaced by zero. Returns
    /// `None` if [`Self::obeyed`] does.
    #[must_use]
    pub fn from_request(&self) -> Option<Range> {
        Some(self.obeyed()?.since(self.request).of_effect())
    }

    /// Returns a comparison of the probes lost during changes with those lost in control windows.
    /// Returns `None` if the switch drops probes in one state of the rules, because lost probes
    /// cannot be told from dropped ones then.
    #[must_use]
    pub fn losses(&self) -> Option<Excess> {
        self.shows_losses.then(|| Excess {
            changes: Window { probes: self.changes.all(), wrong: self.changes.lost },
            control: Window { probes: self.control.all(), wrong: self.control.lost },
        })
    }
}
