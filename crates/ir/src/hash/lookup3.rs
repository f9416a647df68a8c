//! Bob Jenkins' hash lookup3.

/// Computes lookup3 (`hashlittle` with initial value 0, 2006), which uBPF calls `lookup3`.
pub(super) fn lookup3(data: &[u8]) -> u32 {
    let start = 0xdead_beef_u32.wrapping_add(data.len() as u32);
    let mut state = [start; 3];
    let mut rest = data;
    while rest.len() > 12 {
        let (block, after) = rest.split_at(12);
        add_words(&mut state, block);
        state = mixed(state);
        rest = after;
    }
    if rest.is_empty() {
        return state[2];
    }
    add_words(&mut state, rest);
    finished(state)
}

/// Adds up to twelve bytes of data to the three words of the state, least significant byte first.
fn add_words(state: &mut [u32; 3], bytes: &[u8]) {
    for (position, byte) in bytes.iter().enumerate().take(12) {
        if let Some(word) = state.get_mut(position / 4) {
            *word = word.wrapping_add(u32::from(*byte) << (8 * (position % 4)));
        }
    }
}

fn mixed([mut a, mut b, mut c]: [u32; 3]) -> [u32; 3] {
    for turn in [[4, 6, 8], [16, 19, 4]] {
        a = a.wrapping_sub(c) ^ c.rotate_left(turn[0]);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(turn[1]);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(turn[2]);
        b = b.wrapping_add(a);
    }
    [a, b, c]
}

fn finished([mut a, mut b, mut c]: [u32; 3]) -> u32 {
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookup3_returns_the_values_that_its_author_states() {
        // The expected values are from the comments of driver5 in lookup3.c.
        assert_eq!(lookup3(b""), 0xdead_beef);
        assert_eq!(lookup3(b"Four score and seven years ago"), 0x1777_0551);
    }
}
