//! Chooses the match for one key from the domains of the match's parts.

use num_bigint::BigUint;
use num_traits::Zero;

use super::domain::Domain;
use super::{Domains, Search, TextDomain, slot};
use crate::bits;
use crate::compiled::Part;
use crate::entry::{Key, KeyType, Kind, Match};

/// The number of values that are tried for one mask.
const VALUES: usize = 8;
/// The number of masks, prefix lengths or ends of ranges that are drawn for one key.
const DRAWN: usize = 6;

impl Search<'_, '_> {
    /// Returns a match for a key that accepts the packet's value and whose parts are in their
    /// domains. Returns `None` if none was found. If `prefers` is true, the match that the caller
    /// prefers is tried first.
    pub(super) fn match_for(
        &mut self,
        key: usize,
        domains: &mut Domains,
        prefers: bool,
    ) -> Option<Match<'static>> {
        let constraint = self.constraint;
        let Key { kind, ty, .. } = constraint.keys.get(key)?;
        let width = match ty {
            KeyType::Text(_) => return self.text(key, *kind, domains),
            KeyType::Bits(width) => *width,
        };
        let packet = self.wishes.accepts.get(key).and_then(Option::as_deref);
        let packet = packet.map(BigUint::from_bytes_be);
        let is_packet = packet.is_some();
        let preferred = self.wishes.preferred.get(key).filter(|_| prefers).cloned();
        match kind {
            Kind::Exact => {
                let domain = domains.slot(key, Part::Value, width);
                let preferred = match preferred {
                    Some(Match::Exact(value)) => Some(BigUint::from_bytes_be(&value)),
                    _ => None,
                };
                let preferred = preferred.filter(|value| domain.contains(value));
                let value = match packet {
                    Some(packet) => domain.contains(&packet).then_some(packet)?,
                    None => preferred.unwrap_or_else(|| domain.draw(&mut self.random)),
                };
                Some(Match::Exact(owned(&value)))
            }
            Kind::Ternary | Kind::Optional => {
                let mask = domains.slot(key, Part::Mask, width).clone();
                let value = domains.slot(key, Part::Value, width);
                let ones = bits::ones(width);
                let mut masks = vec![ones.clone(), BigUint::zero()];
                if *kind == Kind::Ternary {
                    masks.extend([mask.low().clone(), mask.high().clone()]);
                    masks.extend((0..DRAWN).map(|number| match number % 2 {
                        0 => mask.draw(&mut self.random),
                        _ => bits::prefix_mask(width, self.random.u32(0..=width)),
                    }));
                }
                self.random.shuffle(&mut masks);
                let preferred = match preferred {
                    Some(Match::Ternary { mask, value }) if *kind == Kind::Ternary => {
                        masks.insert(0, BigUint::from_bytes_be(&mask));
                        Some(BigUint::from_bytes_be(&value))
                    }
                    Some(Match::Exact(value)) => {
                        masks.insert(0, ones.clone());
                        Some(BigUint::from_bytes_be(&value))
                    }
                    _ => None,
                };
                let wanted = packet.or(preferred);
                let fits = |candidate: &BigUint| mask.contains(candidate);
                let (value, mask) = masks.into_iter().filter(fits).find_map(|mask| {
                    self.masked(value, &mask, wanted.as_ref(), is_packet).map(|value| (value, mask))
                })?;
                Some(match kind {
                    _ if mask.is_zero() => Match::Any,
                    Kind::Optional => Match::Exact(owned(&value)),
                    _ => Match::Ternary { value: owned(&value), mask: owned(&mask) },
                })
            }
            Kind::Lpm => {
                let (least, most) = *domains.prefix_length(key, width);
                let (least, most) = (u32::try_from(least).ok()?, u32::try_from(most).ok()?);
                if least > most {
                    return None;
                }
                let value = domains.slot(key, Part::Value, width);
                let mut lengths = vec![most, least];
                lengths.extend((0..DRAWN).map(|_| self.random.u32(least..=most)));
                self.random.shuffle(&mut lengths);
                let mut wanted = packet;
                if let Some(Match::Lpm { prefix_length, value }) = preferred
                    && (least..=most).contains(&prefix_length)
                {
                    lengths.insert(0, prefix_length);
                    wanted = wanted.or_else(|| Some(BigUint::from_bytes_be(&value)));
                }
                let (value, prefix_length) = lengths.into_iter().find_map(|length| {
                    let mask = bits::prefix_mask(width, length);
                    self.masked(value, &mask, wanted.as_ref(), is_packet)
                        .map(|value| (value, length))
                })?;
                Some(match prefix_length {
                    0 => Match::Any,
                    _ => Match::Lpm { value: owned(&value), prefix_length },
                })
            }
            Kind::Range => self.range(key, width, domains, packet.as_ref(), preferred),
        }
    }

    /// Returns a value of the domain in which only bits of the mask are set. Prefers the bits of
    /// `wanted` under the mask, if the domain contains that value. Otherwise draws another value,
    /// or returns `None` if `is_required` is true.
    fn masked(
        &mut self,
        domain: &Domain,
        mask: &BigUint,
        wanted: Option<&BigUint>,
        is_required: bool,
    ) -> Option<BigUint> {
        let wanted = wanted.map(|wanted| wanted & mask).filter(|value| domain.contains(value));
        if wanted.is_some() || is_required {
            return wanted;
        }
        let drawn = (0..VALUES).map(|number| match number {
            // The lowest value of the domain, rounded up to a multiple of the mask's lowest bit.
            0 => {
                let step = mask.trailing_zeros().unwrap_or(0);
                ((domain.low() + (BigUint::from(1_u8) << step) - 1_u8) >> step) << step
            }
            _ => domain.draw(&mut self.random) & mask,
        });
        let candidates: Vec<BigUint> = drawn.collect();
        let fits = |value: &&BigUint| domain.contains(value) && (*value & mask) == **value;
        let fitting: Vec<&BigUint> = candidates.iter().filter(fits).collect();
        self.random.choice(fitting).cloned()
    }

    fn range(
        &mut self,
        key: usize,
        width: u32,
        domains: &mut Domains,
        packet: Option<&BigUint>,
        preferred: Option<Match<'_>>,
    ) -> Option<Match<'static>> {
        use crate::parser::Comparison::{GreaterOrEqual, LessOrEqual};

        let mut lows = domains.slot(key, Part::Low, width).clone();
        let mut highs = domains.slots.get(&slot(key, Part::High)).cloned();
        let highs = highs.get_or_insert_with(|| Domain::of_width(width));
        lows.narrow(LessOrEqual, &packet.unwrap_or(highs.high()).clone())?;
        highs.narrow(GreaterOrEqual, &packet.unwrap_or(lows.low()).clone())?;
        let preferred = match preferred {
            Some(Match::Range { low, high }) => {
                Some((BigUint::from_bytes_be(&low), BigUint::from_bytes_be(&high)))
            }
            _ => None,
        };
        let (low, high) = match preferred {
            Some((low, high)) if low <= high && lows.contains(&low) && highs.contains(&high) => {
                (low, high)
            }
            _ => {
                let low = lows.draw(&mut self.random);
                highs.narrow(GreaterOrEqual, &low)?;
                let high = highs.draw(&mut self.random);
                (low, high)
            }
        };
        Some(if low.is_zero() && high == bits::ones(width) {
            Match::Any
        } else {
            Match::Range { low: owned(&low), high: owned(&high) }
        })
    }

    /// Returns a match for a key that controllers write as a string. Its match kind is exact or
    /// optional.
    fn text(&mut self, key: usize, kind: Kind, domains: &mut Domains) -> Option<Match<'static>> {
        let mask = domains.slot(key, Part::Mask, 1).clone();
        let TextDomain { must, must_not } = domains.texts.remove(&key).unwrap_or_default();
        let packet = self.wishes.accepts.get(key).and_then(Option::as_deref);
        let may_omit = kind == Kind::Optional && mask.contains(&BigUint::zero());
        let is_empty = must.as_deref().is_some_and(<[u8]>::is_empty);
        if may_omit && (must.is_none() || is_empty) && self.random.bool() {
            return Some(Match::Any);
        }
        if kind == Kind::Optional && !mask.contains(&BigUint::from(1_u8)) {
            return (must.is_none() || is_empty).then_some(Match::Any);
        }
        let string = match (packet, must) {
            (Some(packet), Some(must)) if *packet != *must => return None,
            (Some(packet), _) => packet.to_vec(),
            (None, Some(must)) => must.into_vec(),
            (None, None) => format!("name-{}", self.random.u16(..)).into_bytes(),
        };
        (!must_not.iter().any(|other| **other == *string)).then(|| Match::Exact(string.into()))
    }
}

fn owned(value: &BigUint) -> std::borrow::Cow<'static, [u8]> {
    value.to_bytes_be().into()
}
