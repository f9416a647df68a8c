//! Probes: test packets whose way through the switch shows which state of a rule they met.

use super::time::{Gap, Span};

/// The way in which a probe left the switch, compared with the two ways that are correct while its
/// rule changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The probe left as the rule demands before the update.
    Old,
    /// The probe left as the rule demands after the update.
    New,
    /// Several copies arrived: at least one as the old state demands, and at least one as the new
    /// state demands.
    Both,
    /// Several copies arrived, all as the same state demands.
    Repeated,
    /// The probe left by a port that the old or the new state demands, but with other contents.
    Altered,
    /// The probe left by a port that neither state demands.
    Elsewhere,
}

impl Class {
    /// Returns the class of a probe after another copy of it, of class `copy`, has arrived. `self`
    /// is the class before that arrival, and `first` the class of the first copy. If some copies
    /// left as neither state demands, the class is that of the first of these.
    #[must_use]
    pub(crate) fn with_copy(self, first: Self, copy: Self) -> Self {
        let is_of_a_state = |class| matches!(class, Self::Old | Self::New);
        match self {
            Self::Altered | Self::Elsewhere => self,
            _ if !is_of_a_state(copy) => copy,
            Self::Both => Self::Both,
            _ if copy == first => Self::Repeated,
            _ => Self::Both,
        }
    }
}

/// The fate of a probe packet: whether and how it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The probe did not arrive within the time for which it was awaited.
    Lost,
    /// The probe arrived.
    Arrived {
        /// The moment at which the probe arrived; that of the first copy if there were several.
        at: Span,
        /// The way in which the probe left the switch.
        class: Class,
    },
}

/// A packet that is sent to find out in which state the switch has a rule. The switch looks the
/// rule up after the probe is sent and before the probe arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The moment at which the probe was sent.
    pub sent: Span,
    /// Whether and how the probe arrived.
    pub fate: Fate,
}

impl Probe {
    /// Returns the class of the probe; `None` if it was lost.
    #[must_use]
    pub fn class(&self) -> Option<Class> {
        match self.fate {
            Fate::Lost => None,
            Fate::Arrived { class, .. } => Some(class),
        }
    }
}

/// The state of a rule in which the switch drops the rule's probes, so that no probe arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// Probes leave the switch in both states.
    Neither,
    /// Probes are dropped before the update. This is often so if the update inserts the rule.
    Old,
    /// Probes are dropped after the update. This is often so if the update deletes the rule.
    New,
}

/// Decides for the missing probes of one rule whether the switch dropped them because of the rule's
/// state or the network lost them.
///
/// A missing probe is weaker evidence than an arrival, since the network may have lost it. It is
/// therefore attributed to the state in which the switch drops probes only where this cannot
/// contradict an arrival: to the old state if it was sent before all probes that met the new state,
/// or to the new state if it was sent after all probes that met the old state. Other missing probes
/// stay lost. An attributed probe counts as processed at most `longest` after it was sent; this is
/// the longest delay of a probe that arrived.
pub fn read_silence(probes: &mut [Probe], silence: Silence, longest: Gap) {
    let sent_of = |class: Class| {
        let own = probes.iter().filter(move |probe| probe.class() == Some(class));
        own.map(|probe| probe.sent)
    };
    let first_new = sent_of(Class::New).map(|sent| sent.earliest).min();
    let last_old = sent_of(Class::Old).map(|sent| sent.latest).max();
    for probe in probes.iter_mut().filter(|probe| probe.fate == Fate::Lost) {
        let Span { earliest, latest } = probe.sent;
        let class = match silence {
            Silence::Old if first_new.is_none_or(|first| latest < first) => Class::Old,
            Silence::New if last_old.is_none_or(|last| earliest > last) => Class::New,
            Silence::Old | Silence::New | Silence::Neither => continue,
        };
        let at = Span { earliest, latest: latest.after(longest) };
        probe.fate = Fate::Arrived { at, class };
    }
}

/// The numbers of probes of each class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Classes {
    /// The number of probes that were processed as the rule demands before the update.
    pub old: u64,
    /// The number of probes that were processed as the rule demands after the update.
    pub new: u64,
    /// The number of probes of which some copies left as the old state demands, and some as the new
    /// state demands.
    pub both: u64,
    /// The number of probes that arrived more than once, always as the same state demands.
    pub repeated: u64,
    /// The number of probes that left by a port that the old or the new state demands, but with
    /// other contents.
    pub altered: u64,
    /// The number of probes that left by a port that neither state demands.
    pub elsewhere: u64,
    /// The number of probes that never arrived.
    pub lost: u64,
}

impl Classes {
    /// Returns the numbers of probes of each class.
    #[must_use]
    pub fn of<'a>(probes: impl IntoIterator<Item = &'a Probe>) -> Self {
        let mut counts = Self::default();
        for probe in probes {
            counts.add(probe.class());
        }
        counts
    }

    fn add(&mut self, class: Option<Class>) {
        let count = match class {
            Some(Class::Old) => &mut self.old,
            Some(Class::New) => &mut self.new,
            Some(Class::Both) => &mut self.both,
            Some(Class::Repeated) => &mut self.repeated,
            Some(Class::Altered) => &mut self.altered,
            Some(Class::Elsewhere) => &mut self.elsewhere,
            None => &mut self.lost,
        };
        *count += 1;
    }

    /// Adds the numbers of probes in `other` to these numbers, class by class.
    pub fn append(&mut self, other: &Self) {
        self.old += other.old;
        self.new += other.new;
        self.both += other.both;
        self.repeated += other.repeated;
        self.altered += other.altered;
        self.elsewhere += other.elsewhere;
        self.lost += other.lost;
    }

    /// Returns the number of all probes.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.old + self.new + self.both + self.repeated + self.neither()
    }

    /// Returns the number of probes that met neither the old nor the new state.
    #[must_use]
    pub fn neither(&self) -> u64 {
        self.lost + self.astray()
    }

    /// Returns the number of probes that arrived, but in a way that neither state demands.
    #[must_use]
    pub fn astray(&self) -> u64 {
        self.altered + self.elsewhere
    }
}

#[cfg(test)]
mod tests {
    use super::Class::{self, Altered, Both, Elsewhere, New, Old, Repeated};

    fn class_of(copies: &[Class]) -> Class {
        let first = copies[0];
        copies[1..].iter().fold(first, |class, copy| class.with_copy(first, *copy))
    }

    #[test]
    fn copies_of_a_probe_have_one_class_together() {
        assert_eq!(class_of(&[Old, Old]), Repeated);
        assert_eq!(class_of(&[New, New, New]), Repeated);
        assert_eq!(class_of(&[Old, New]), Both);
        assert_eq!(class_of(&[Old, Old, New]), Both);
        assert_eq!(class_of(&[Old, New, Old]), Both);
        for order in [[Altered, Altered], [Old, Altered], [Altered, New]] {
            assert_eq!(class_of(&order), Altered);
        }
        assert_eq!(class_of(&[Elsewhere, Elsewhere]), Elsewhere);
    }
}
