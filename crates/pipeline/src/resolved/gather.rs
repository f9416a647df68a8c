//! The inputs of checksums and hashes. Each input is a list of pieces of the frame (the packet's
//! working memory), called a gather, whose bits are concatenated.

use super::shape::{DATA, Shape, Storage};
use super::{Address, Block, Expression, Field, Offset, Outcome, Resolver, Statement};
use crate::value::Value;
use ir::hash::Algorithm;
use ir::{Argument, ExpressionKind, ExternFunction, Place, Projection};

/// The input of a checksum or hash: a list of pieces of the frame (the packet's working memory),
/// and the algorithm.
#[derive(Clone, Debug)]
pub(crate) struct Gather {
    pub(crate) algorithm: Algorithm,
    pub(crate) pieces: Vec<Piece>,
    /// Whether the packet's payload (the part that the parser has not extracted) follows the
    /// pieces.
    pub(crate) payload: bool,
    /// Whether the checksum is only verified: it is compared with a field, and a difference is
    /// recorded as a checksum error of the packet.
    pub(crate) verifies: bool,
    /// Whether fields of invalid headers are included.
    pub(crate) takes_invalid: bool,
}

impl Gather {
    /// Returns the number of bits of all pieces together, or `None` if it varies from packet to
    /// packet.
    pub(crate) fn bits(&self) -> Option<u32> {
        self.pieces.iter().try_fold(0_u32, |sum, piece| match *piece {
            Piece::Bits { width, .. }
            | Piece::Number { width, .. }
            | Piece::Constant { width, .. } => sum.checked_add(width),
            Piece::Tail { .. } => None,
        })
    }

    /// Returns the size of each piece in bytes. Returns `None` if the size of a piece varies or is
    /// not a number of whole bytes, if the payload is included, or if the gather only verifies a
    /// checksum.
    pub(crate) fn bytes_of_pieces(&self) -> Option<Vec<u32>> {
        let bytes = self.pieces.iter().map(|piece| match *piece {
            Piece::Bits { bit, width, .. } => (bit % 8 == 0).then_some(width),
            Piece::Number { width, .. } | Piece::Constant { width, .. } => Some(width),
            Piece::Tail { .. } => None,
        });
        let bytes = bytes.map(|width| width.filter(|width| width % 8 == 0).map(|width| width / 8));
        bytes.collect::<Option<_>>().filter(|_| !self.payload && !self.verifies)
    }

    /// Returns whether this is the input of an Internet checksum, with pieces of whole 16-bit
    /// words, and without the payload.
    pub(crate) fn is_in_words(&self) -> bool {
        self.algorithm == Algorithm::OnesComplement16
            && !self.payload
            && self.pieces.iter().all(|piece| match *piece {
                Piece::Bits { bit, width, .. } => {
                    bit.is_multiple_of(8) && width.is_multiple_of(16) && width < 1 << 16
                }
                Piece::Tail { .. } => true,
                Piece::Number { width, .. } | Piece::Constant { width, .. } => {
                    width.is_multiple_of(16) && (1..=64).contains(&width)
                }
            })
    }
}

/// A piece of the input of a checksum or hash.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Piece {
    /// A range of `width` bits of the data at `offset`, starting at bit `bit`. The range is skipped
    /// if it is in an invalid header, unless the gather includes fields of invalid headers.
    Bits {
        flag: Offset,
        offset: Offset,
        bit: u32,
        width: u32,
    },
    /// The contents of the varbit at the end of a header. The varbit begins `bytes` bytes after the
    /// first field of the header, whose validity flag is given.
    Tail {
        flag: Offset,
        bytes: u32,
    },
    /// A number in the machine's byte order.
    Number {
        offset: Offset,
        bytes: u32,
        width: u32,
    },
    Constant {
        number: u64,
        width: u32,
    },
}

impl Resolver<'_> {
    /// Translates a call of `verify_checksum`, `update_checksum` or one of their variants with
    /// payload to statements of the resolved program, which are appended to `out`.
    pub(super) fn checksum(
        &mut self,
        function: &ExternFunction,
        arguments: &[Argument],
        out: &mut Block,
    ) -> Outcome {
        use ExternFunction as Of;
        let verifies = matches!(function, Of::VerifyChecksum | Of::VerifyChecksumWithPayload);
        let payload =
            matches!(function, Of::VerifyChecksumWithPayload | Of::UpdateChecksumWithPayload);
        let [Argument::In(condition), data, to, algorithm] = arguments else {
            return self.refuse("a checksum with other arguments");
        };
        let condition = self.expression(condition)?;
        let place = match to {
            Argument::InOut(place) | Argument::Saved { place, .. } => place,
            Argument::In(value) => match &value.kind {
                ExpressionKind::Read(place) => place,
                _ => return self.refuse("a checksum that is computed"),
            },
            _ => return self.refuse("a checksum without a field"),
        };
        let found = self.resolve(place)?;
        let (Shape::Scalar(scalar), None) = (&found.shape, found.slice) else {
            return self.refuse("a checksum that is not a number of 64 bits");
        };
        let field = Field { address: found.address, scalar: *scalar };
        let condition = match found.header {
            // An invalid header has no checksum.
            Some(header) => Expression::Binary {
                operator: ir::BinaryOperator::And,
                width: 1,
                signed: false,
                left: Box::new(condition),
                right: Box::new(Expression::IsValid(header)),
            },
            None => condition,
        };
        let gather = self.gather(algorithm, data, payload, verifies)?;
        let statement = Statement::Checksum { gather, field, updates: !verifies };
        out.push(Statement::If { condition, then: vec![statement], otherwise: Vec::new() });
        Ok(())
    }

    /// Translates a call of v1model's `hash` to statements of the resolved program, which are
    /// appended to `out`.
    pub(super) fn hash(&mut self, arguments: &[Argument], out: &mut Block) -> Outcome {
        let [Argument::Out(to), algorithm, Argument::In(base), data, Argument::In(most)] =
            arguments
        else {
            return self.refuse("a hash with other arguments");
        };
        let to = self.field(to)?;
        let (base, most) = (self.expression(base)?, self.expression(most)?);
        let gather = self.gather(algorithm, data, false, false)?;
        out.push(Statement::Hash { gather, base, most: Some(most), to });
        Ok(())
    }

    fn gather(
        &mut self,
        algorithm: &Argument,
        data: &Argument,
        payload: bool,
        verifies: bool,
    ) -> Outcome<u32> {
        let (Argument::In(algorithm), Argument::In(data)) = (algorithm, data) else {
            return self.refuse("a hash with other arguments");
        };
        let ExpressionKind::Constant(ir::Value::Enum(position)) = &algorithm.kind else {
            return self.refuse("a hash whose algorithm is computed");
        };
        let member = self.layout.member(algorithm.type_id, &Value::Enum(*position));
        let Some(algorithm) = member.map(|member| member.algorithm.clone()) else {
            return self.refuse("a hash without algorithm");
        };
        let number = self.gathered(data, algorithm)?;
        if let Some(gather) = self.gathers.get_mut(number as usize) {
            (gather.payload, gather.verifies) = (payload, verifies);
        }
        Ok(number)
    }

    /// Adds a gather to the program whose only input is an expression, for the given hash
    /// algorithm. Returns the number of the gather.
    pub(super) fn gathered(&mut self, data: &ir::Expression, algorithm: Algorithm) -> Outcome<u32> {
        let mut pieces = Vec::new();
        self.pieces(data, &mut pieces)?;
        let takes_invalid = !self.layout.dialect.hashes_valid_headers_only();
        self.gathered_pieces(pieces, algorithm, takes_invalid)
    }

    /// Adds a gather to the program with the given pieces and hash algorithm. Returns the number of
    /// the gather.
    pub(super) fn gathered_pieces(
        &mut self,
        pieces: Vec<Piece>,
        algorithm: Algorithm,
        takes_invalid: bool,
    ) -> Outcome<u32> {
        if matches!(algorithm, Algorithm::Random | Algorithm::Unknown(_)) {
            return self.refuse("a hash algorithm that is not supported");
        }
        let number = u32::try_from(self.gathers.len()).unwrap_or(u32::MAX);
        let (payload, verifies) = (false, false);
        self.gathers.push(Gather { algorithm, pieces, payload, verifies, takes_invalid });
        Ok(number)
    }

    fn pieces(&mut self, data: &ir::Expression, pieces: &mut Vec<Piece>) -> Outcome {
        match &data.kind {
            ExpressionKind::Composite(parts) => {
                parts.iter().try_for_each(|part| self.pieces(part, pieces))
            }
            ExpressionKind::Read(place) => self.piece(place, pieces),
            ExpressionKind::Constant(value) => {
                let (width, _) = self.number(data.type_id)?;
                let number = self.constant(data.type_id, value)?;
                pieces.push(Piece::Constant { number, width });
                Ok(())
            }
            _ => self.refuse("a hash of something that is computed"),
        }
    }

    /// Appends the pieces of the frame that make up a place (a variable or part of one).
    pub(super) fn piece(&mut self, place: &Place, pieces: &mut Vec<Piece>) -> Outcome {
        if let Some(tail) = self.tail(place)? {
            pieces.push(tail);
            return Ok(());
        }
        let type_id = self.layout.program.place_type(place);
        let is_wide = type_id
            .is_some_and(|type_id| matches!(self.shape(type_id), Shape::Wide { width: 65.., .. }));
        if is_wide {
            let wide = self.wide_place(place)?;
            let Some(header) = wide.header() else {
                return self.refuse("a hash of a variable of more than 64 bits");
            };
            let (flag, offset) = (header.offset, wide.address.offset);
            self.append(Piece::Bits { flag, offset, bit: wide.bit, width: wide.width }, pieces);
            return Ok(());
        }
        let found = self.resolve(place)?;
        let Address { offset, element: None } = found.address else {
            return self.refuse("a hash of next or last");
        };
        if found.slice.is_some() {
            return self.refuse("a hash of a part of a number");
        }
        let piece = match (&found.shape, found.header) {
            (Shape::Header(header), _) if header.tail == 0 => {
                Piece::Bits { flag: offset, offset: offset + DATA, bit: 0, width: header.bits }
            }
            (Shape::Scalar(scalar), header) => match (scalar.storage, header) {
                (Storage::Packed { bit }, Some(header)) => {
                    Piece::Bits { flag: header.offset, offset, bit, width: scalar.width }
                }
                (Storage::Native { bytes }, None) => {
                    Piece::Number { offset, bytes, width: scalar.width }
                }
                _ => return self.refuse("a hash of a header whose fields are not contiguous"),
            },
            _ => return self.refuse("a hash of something that is not a number of 64 bits"),
        };
        self.append(piece, pieces);
        Ok(())
    }

    /// Appends a piece to `pieces`, or extends the last piece if the new one follows it in the
    /// frame.
    fn append(&self, piece: Piece, pieces: &mut Vec<Piece>) {
        if let (
            Some(Piece::Bits { flag, offset, bit, width }),
            Piece::Bits { flag: next_flag, offset: next_offset, bit: next_bit, width: more },
        ) = (pieces.last_mut(), piece)
            && (*flag, *offset, *bit + *width) == (next_flag, next_offset, next_bit)
        {
            *width += more;
        } else {
            pieces.push(piece);
        }
    }

    /// Returns the piece for a place that is the varbit at the end of a header, or `None` for any
    /// other place.
    fn tail(&mut self, place: &Place) -> Outcome<Option<Piece>> {
        let Some((Projection::Field(position), path)) = place.path.split_last() else {
            return Ok(None);
        };
        let header = Place { variable: place.variable, path: path.to_vec() };
        let found = self.resolve(&header)?;
        Ok(match (&found.shape, found.address) {
            (Shape::Header(header), Address { offset, element: None })
                if header.tail > 0 && *position as usize == header.fields.len() =>
            {
                Some(Piece::Tail { flag: offset, bytes: header.bytes() })
            }
            _ => None,
        })
    }
}
