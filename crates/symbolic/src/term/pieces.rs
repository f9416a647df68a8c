//! Splits concatenations into their pieces.

use super::{Operation, Term, Terms};

impl Terms {
    /// Returns the pieces of which a term is the concatenation, the least significant first. A term
    /// that is not a concatenation is its only piece.
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
