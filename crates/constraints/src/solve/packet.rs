//! Checks whether the entry in progress can still match the given packet. A branch of the search
//! that excludes the packet is abandoned immediately. Without this check, the conflict would be
//! noticed only when values are drawn, again for each combination of the other branches.

use num_bigint::BigUint;
use num_traits::Zero;

use super::{Domains, Search, slot};
use crate::bits;
use crate::compiled::Part;
use crate::entry::{Key, KeyType, Kind};

impl Search<'_, '_> {
    /// Returns whether there may be a match for the key that accepts the packet's value and whose
    /// parts are in their domains.
    pub(super) fn may_accept(&self, domains: &Domains, key: usize) -> bool {
        let (Some(Some(packet)), Some(Key { kind, ty: KeyType::Bits(width), .. })) =
            (self.wishes.accepts.get(key), self.constraint.keys.get(key))
        else {
            return true;
        };
        let packet = BigUint::from_bytes_be(packet);
        let domain = |part: Part| domains.slots.get(&slot(key, part));
        match kind {
            Kind::Exact => domain(Part::Value).is_none_or(|value| value.contains(&packet)),
            Kind::Range => {
                domain(Part::Low).is_none_or(|low| *low.low() <= packet)
                    && domain(Part::High).is_none_or(|high| *high.high() >= packet)
            }
            Kind::Ternary | Kind::Optional | Kind::Lpm => {
                let Some(value) = domain(Part::Value) else { return true };
                // In a match, the value has only bits that the packet's value has as well.
                if *value.low() > packet {
                    return false;
                }
                let only_value = (value.low() == value.high()).then(|| value.low());
                if only_value.is_some_and(|value| (value & &packet) != *value) {
                    return false;
                }
                let Some(mask) = domain(Part::Mask) else { return true };
                if *kind == Kind::Optional {
                    let masks = [BigUint::zero(), bits::ones(*width)];
                    let mut masks = masks.iter().filter(|one| mask.contains(one));
                    return masks.any(|mask| value.contains(&(&packet & mask)));
                }
                mask.low() != mask.high() || value.contains(&(&packet & mask.low()))
            }
        }
    }
}
