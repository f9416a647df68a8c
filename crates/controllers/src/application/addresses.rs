//! A table of the port at which each Ethernet address was last seen, for a bounded number of
//! addresses.

use std::collections::HashMap;

use openflow::MacAddress;

use super::Port;

/// The number of addresses in one generation. The table always keeps this many of the addresses
/// that were seen last, and at most twice as many.
const GENERATION: usize = 8192;

/// A table of Ethernet addresses that forgets those that have been silent for the longest time.
///
/// New addresses enter the younger of two generations. When this generation is full, it becomes the
/// older one, and the previous older generation is dropped. The table therefore needs no clock, and
/// a sender of random addresses cannot exhaust the memory.
#[derive(Clone, Debug, Default)]
pub(super) struct AddressTable {
    younger: HashMap<MacAddress, Port>,
    older: HashMap<MacAddress, Port>,
}

impl AddressTable {
    pub(super) fn learn(&mut self, address: MacAddress, port: Port) {
        if let Some(known) = self.younger.get_mut(&address) {
            *known = port;
            return;
        }
        if self.younger.len() >= GENERATION {
            self.older = std::mem::take(&mut self.younger);
        }
        self.younger.insert(address, port);
    }

    pub(super) fn find(&self, address: MacAddress) -> Option<Port> {
        self.younger.get(&address).or_else(|| self.older.get(&address)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: usize) -> MacAddress {
        MacAddress::from_bits(number as u64)
    }

    #[test]
    fn the_latest_port_of_an_address_is_found() {
        let mut table = AddressTable::default();
        table.learn(address(1), Port(1));
        table.learn(address(1), Port(2));
        assert_eq!(table.find(address(1)), Some(Port(2)));
        assert_eq!(table.find(address(2)), None);
    }

    #[test]
    fn active_addresses_are_kept_and_silent_ones_are_forgotten() {
        let mut table = AddressTable::default();
        table.learn(address(0), Port(1));
        for number in 1..4 * GENERATION {
            table.learn(address(number), Port(2));
            if number % GENERATION == 0 {
                table.learn(address(0), Port(3));
            }
        }
        assert_eq!(table.find(address(0)), Some(Port(3)));
        assert_eq!(table.find(address(1)), None);
        assert_eq!(table.find(address(4 * GENERATION - 1)), Some(Port(2)));
        assert!(table.younger.len() + table.older.len() <= 2 * GENERATION);
    }
}
