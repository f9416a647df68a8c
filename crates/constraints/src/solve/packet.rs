//! Whether an entry can still match the packet that it must match. A branch that excludes this is
//! left at once: found out only when values are drawn, it would be tried again with all others.

use num_bigint::BigUint;
use num_traits::Zero;

use super::{Domains, Search, slot};
use crate::bits;
use crate::compiled::Part;
use crate::entry::{Key, KeyType, Kind};

impl Search<'_, '_> {
    /// Returns false if no match for a key with parts in the domains accepts the packet.
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
                // The value has no bits that the packet lacks.
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
