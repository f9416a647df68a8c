//! Concatenations as lists of pieces.

use super::{Operation, Term, Terms};

impl Terms {
    /// Returns the terms whose concatenation a term is, from the least significant one on. A term
    /// that is no concatenation is its only piece.
    #[must_use]
    pub fn pieces(&self, of: Term) -> Vec<Term> {
        let mut pieces = Vec::new();
        let mut rest = of;
        while let Operation::Concatenate(high, low) = self.operation(rest) {
            pieces.push(low);
            rest = high;
        }
        pieces.push(rest);
        pieces
    }
}
