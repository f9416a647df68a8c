//! Ranks that speak in types.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Event, Link, Rank};

/// Time between two looks at whether there is still something to wait for.
const LOOK: Duration = Duration::from_millis(20);

/// This process among the others.
///
/// A message is JSON: ranks of one run are of one build, and what they say is small beside what
/// they measure.
#[derive(Debug)]
pub struct Group {
    link: Box<dyn Link>,
    lost: BTreeMap<Rank, String>,
}

/// What came next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received<T> {
    /// A message.
    Message(Rank, T),
    /// A rank was lost just now; [`Group::lost`] says why.
    Lost(Rank),
    /// Nothing, for as long as was waited.
    Nothing,
}

impl Group {
    /// Speaks over a link.
    pub fn new(link: Box<dyn Link>) -> Self {
        Self { link, lost: BTreeMap::new() }
    }

    /// Which rank this is.
    pub fn rank(&self) -> Rank {
        self.link.rank()
    }

    /// How many there are, the lost ones among them.
    pub fn size(&self) -> u32 {
        self.link.size()
    }

    /// Whether this rank leads the others.
    pub fn is_first(&self) -> bool {
        self.rank() == Rank::FIRST
    }

    /// The ranks but the first.
    pub fn others(&self) -> impl Iterator<Item = Rank> + use<> {
        (1..self.size()).map(Rank)
    }

    /// The ranks that are lost, and why.
    pub fn lost(&self) -> &BTreeMap<Rank, String> {
        &self.lost
    }

    /// Whether a rank that ended is heard of at once. Otherwise only its silence tells.
    pub fn notices_loss(&self) -> bool {
        self.link.notices_loss()
    }

    /// Gives a rank up: what it still sends is not heard any more.
    pub fn give_up(&mut self, rank: Rank, cause: impl Into<String>) {
        self.lost.entry(rank).or_insert_with(|| cause.into());
    }

    /// Sends a message to one rank.
    pub fn send<T: Serialize>(&mut self, to: Rank, message: &T) {
        if self.lost.contains_key(&to) {
            return;
        }
        // Fails for keys of maps that are no strings alone, which no message has.
        if let Ok(bytes) = serde_json::to_vec(message) {
            self.link.send(to, &bytes);
        }
    }

    /// Sends a message of the first rank to all others.
    pub fn send_all<T: Serialize>(&mut self, message: &T) {
        for rank in self.others() {
            self.send(rank, message);
        }
    }

    /// What comes next from any rank. A rank whose message is not understood is lost.
    pub fn receive<T: DeserializeOwned>(&mut self, patience: Duration) -> Received<T> {
        match self.link.receive(patience) {
            None => Received::Nothing,
            Some(Event::Message { from, .. }) if self.lost.contains_key(&from) => Received::Nothing,
            Some(Event::Message { from, bytes }) => self.understand(from, &bytes),
            Some(Event::Lost { rank, cause }) => {
                self.give_up(rank, cause);
                Received::Lost(rank)
            }
        }
    }

    /// Waits until each other rank has said what is awaited of it, for so long at most; one that has not by then is lost. `take`
    /// is given what ranks say, and tells whether it was that; `is_over` ends the wait before.
    ///
    /// # Errors
    /// What `take` gives, which ends the wait.
    pub fn hear_all<T: DeserializeOwned, E>(
        &mut self,
        patience: Duration,
        is_over: impl Fn() -> bool,
        mut take: impl FnMut(&mut Self, Rank, T) -> Result<bool, E>,
    ) -> Result<(), E> {
        let deadline = Instant::now() + patience;
        let mut heard = BTreeSet::new();
        loop {
            let is_awaited = |rank: &Rank| !heard.contains(rank) && !self.lost.contains_key(rank);
            let awaited: Vec<Rank> = self.others().filter(is_awaited).collect();
            if awaited.is_empty() || is_over() {
                return Ok(());
            }
            if Instant::now() >= deadline {
                let cause = format!("it was not ready in {} s", patience.as_secs_f64());
                awaited.into_iter().for_each(|rank| self.give_up(rank, cause.clone()));
                return Ok(());
            }
            if let Received::Message(rank, message) = self.receive(LOOK)
                && take(self, rank, message)?
            {
                heard.insert(rank);
            }
        }
    }

    fn understand<T: DeserializeOwned>(&mut self, from: Rank, bytes: &[u8]) -> Received<T> {
        match serde_json::from_slice(bytes) {
            Ok(message) => Received::Message(from, message),
            Err(error) => {
                self.give_up(from, format!("its message was not understood: {error}"));
                Received::Lost(from)
            }
        }
    }

    /// Ends the membership; `status` is what the process is about to end with.
    pub fn leave(mut self, status: u8) {
        if !self.lost.is_empty() {
            self.link.abandon(status);
        }
    }
}
