//! The letters of Helvetica in PDF files: their codes and how wide they are.

/// Widths of the characters from space to tilde in thousandths of the size (Adobe's font metrics
/// of the core 14 fonts).
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];
/// That of most letters.
const USUAL: u16 = 556;

/// The width of a text at size 1.
pub(super) fn width(text: &str) -> f64 {
    let of = |letter: char| {
        let place = (letter as usize).checked_sub(32);
        place.and_then(|place| WIDTHS.get(place)).copied().unwrap_or(USUAL)
    };
    text.chars().map(|letter| f64::from(of(letter))).sum::<f64>() / 1000.0
}

/// The code of a character in WinAnsi encoding (ISO 32000-1, annex D), if it has one.
pub(super) fn win_ansi(letter: char) -> Option<u8> {
    match letter {
        ' '..='~' | '\u{a0}'..='\u{ff}' => u8::try_from(u32::from(letter)).ok(),
        '€' => Some(0x80),
        '…' => Some(0x85),
        '‘' => Some(0x91),
        '’' => Some(0x92),
        '“' => Some(0x93),
        '”' => Some(0x94),
        '•' => Some(0x95),
        '–' => Some(0x96),
        '—' => Some(0x97),
        // The Greek letter, where Latin 1 has the sign of its own.
        'μ' => Some(0xb5),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_as_wide_as_their_letters() {
        assert!((width("Wi.") - (0.944 + 0.222 + 0.278)).abs() < 1e-9);
        assert!((width("~") - 0.584).abs() < 1e-9);
        assert!((width("µ") - 0.556).abs() < 1e-9);
    }

    #[test]
    fn what_the_encoding_lacks_is_known() {
        assert_eq!(win_ansi('µ'), Some(0xb5));
        assert_eq!(win_ansi('–'), Some(0x96));
        assert_eq!(win_ansi('✓'), None);
    }
}
