//! Ranks that speak in types.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Event, Link, Rank};

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
