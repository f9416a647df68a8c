//! A group of ranks, which exchanges typed messages over a [`Link`]. The ranks are the processes of
//! one run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Event, Link, Rank};

/// The interval at which a waiting rank checks whether it need not wait any more.
const POLL: Duration = Duration::from_millis(20);

/// This process as a member of a group of ranks.
///
/// Messages are encoded as JSON, which is fast enough because they are small compared with the
/// measured data. Their format is not versioned, because all ranks of a run are of one build.
#[derive(Debug)]
pub struct Group {
    link: Box<dyn Link>,
    lost: BTreeMap<Rank, String>,
}

/// The result of a wait for a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received<T> {
    /// A message from a rank.
    Message(Rank, T),
    /// The connection to a rank was lost during the wait, or a rank sent a malformed message.
    /// [`Group::lost`] returns the cause.
    Lost(Rank),
    /// No message arrived within the waiting time.
    Nothing,
}

impl Group {
    /// Creates a group whose ranks exchange their messages over `link`.
    pub fn new(link: Box<dyn Link>) -> Self {
        Self { link, lost: BTreeMap::new() }
    }

    /// Returns the rank of this process.
    pub fn rank(&self) -> Rank {
        self.link.rank()
    }

    /// Returns the number of ranks, including lost ones.
    pub fn size(&self) -> u32 {
        self.link.size()
    }

    /// Returns whether this is the first rank, which leads the others.
    pub fn is_first(&self) -> bool {
        self.rank() == Rank::FIRST
    }

    /// Returns all ranks except the first.
    pub fn others(&self) -> impl Iterator<Item = Rank> + use<> {
        (1..self.size()).map(Rank)
    }

    /// Returns the lost ranks, each with the cause.
    pub fn lost(&self) -> &BTreeMap<Rank, String> {
        &self.lost
    }

    /// Returns whether the link reports that a rank has ended. If it does not, a lost rank is
    /// noticed only because it sends nothing.
    pub fn notices_loss(&self) -> bool {
        self.link.notices_loss()
    }

    /// Marks a rank as lost. Its later messages are ignored.
    pub fn give_up(&mut self, rank: Rank, cause: impl Into<String>) {
        self.lost.entry(rank).or_insert_with(|| cause.into());
    }

    /// Sends a message to one rank.
    pub fn send<T: Serialize>(&mut self, to: Rank, message: &T) {
        if self.lost.contains_key(&to) {
            return;
        }
        // Serialisation fails only for maps whose keys are not strings, and no message contains
        // such a map.
        if let Ok(bytes) = serde_json::to_vec(message) {
            self.link.send(to, &bytes);
        }
    }

    /// Sends a message to all ranks except the first. Only the first rank may call this.
    pub fn send_all<T: Serialize>(&mut self, message: &T) {
        for rank in self.others() {
            self.send(rank, message);
        }
    }

    /// Receives the next message from any rank, and waits for it at most for `patience`. A rank
    /// that sends a malformed message is marked as lost.
    pub fn receive<T: DeserializeOwned>(&mut self, patience: Duration) -> Received<T> {
        match self.link.receive(patience) {
            None => Received::Nothing,
            Some(Event::Message { from, .. }) if self.lost.contains_key(&from) => Received::Nothing,
            Some(Event::Message { from, bytes }) => self.decode(from, &bytes),
            Some(Event::Lost { rank, cause }) => {
                self.give_up(rank, cause);
                Received::Lost(rank)
            }
        }
    }

    /// Waits until every other rank has sent an expected message, for at most `patience`. Each
    /// message is passed to `take`, which returns whether it is the expected one. Ranks that have
    /// not sent an expected message in time are marked as lost. The wait ends early once `is_over`
    /// returns true. Only the first rank may call this.
    ///
    /// # Errors
    /// Returns the first error of `take`, which ends the wait.
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
            if let Received::Message(rank, message) = self.receive(POLL)
                && take(self, rank, message)?
            {
                heard.insert(rank);
            }
        }
    }

    fn decode<T: DeserializeOwned>(&mut self, from: Rank, bytes: &[u8]) -> Received<T> {
        match serde_json::from_slice(bytes) {
            Ok(message) => Received::Message(from, message),
            Err(error) => {
                self.give_up(from, format!("its message cannot be decoded: {error}"));
                Received::Lost(from)
            }
        }
    }

    /// Leaves the group. `status` is the exit status with which the process is about to end. If
    /// ranks were lost, the link ends without an orderly shutdown (see [`Link::abandon`]).
    pub fn leave(mut self, status: u8) {
        if !self.lost.is_empty() {
            self.link.abandon(status);
        }
    }
}
