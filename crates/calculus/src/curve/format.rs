//! Curves as text: every piece exact, then what follows.

use super::Curve;
use super::piece::Tail;
use std::fmt;

/// `0: 0 then 5 slope 1/3` reads: value 0 at time 0, then from 5 with slope 1/3.
impl fmt::Display for Curve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, piece) in self.pieces.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{}: ", piece.start)?;
            if piece.at != piece.after {
                write!(f, "{} then ", piece.at)?;
            }
            write!(f, "{}", piece.after)?;
            if !piece.slope.is_zero() {
                write!(f, " slope {}", piece.slope)?;
            }
        }
        if let Tail::Periodic { first, length, increment } = &self.tail {
            let start = &self.pieces[*first].start;
            write!(f, "; from {start} every {length} plus {increment}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Curve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Curve({self})")
    }
}
