//! Functions of v1model, as BMv2's simple_switch has them.

use super::Call;
use crate::error::RunError;
use crate::machine::{Machine, Stop};
use crate::state::Digest;
use crate::value::Value;
use p4lang::bits::Bits;
use p4lang::ir::{Argument, ExpressionKind};

/// The port that drops (`--drop-port` of simple_switch).
pub(crate) const DROP_PORT: u128 = 511;

impl Machine<'_> {
    /// Whether the function is one of these.
    pub(super) fn call_v1model(&mut self, call: &Call<'_>, function: &str) -> Result<bool, Stop> {
        match function {
            "mark_to_drop" => self.mark_to_drop(call)?,
            "clone" => self.effects.clone = Some((self.session(call)?, None)),
            "clone_preserving_field_list" => {
                let field_list = self.field_list(call, 2)?;
                self.effects.clone = Some((self.session(call)?, field_list));
            }
            // Before field lists, the data to keep were an argument, which BMv2 lost as well.
            "clone3" => self.effects.clone = Some((self.session(call)?, None)),
            "resubmit_preserving_field_list" => {
                self.effects.resubmit = Some(self.field_list(call, 0)?);
            }
            "resubmit" => self.effects.resubmit = Some(None),
            "recirculate_preserving_field_list" => {
                self.effects.recirculate = Some(self.field_list(call, 0)?);
            }
            "recirculate" => self.effects.recirculate = Some(None),
            "truncate" => {
                let length = self.input_number(call, 0)?;
                let before = self.effects.truncate.unwrap_or(u64::MAX);
                self.effects.truncate = Some(before.min(length));
            }
            "digest" => {
                let Some(Argument::In(data)) = call.arguments.get(1) else {
                    return Err(crate::machine::damaged("argument of digest"));
                };
                let value = self.evaluate(data)?;
                let receiver = Some(self.input_number(call, 0)?);
                let digest = Digest { instance: None, receiver, type_id: data.type_id, value };
                self.state.digests.push(digest);
            }
            "verify_checksum" | "verify_checksum_with_payload" => {
                let payload = function.ends_with("payload");
                if let Some(computed) = self.checksum_of(call, payload)? {
                    let found = self.input(call, 2)?.to_pattern();
                    let width = found.as_ref().map_or(0, Bits::width);
                    if found != Some(Bits::unsigned(width, u128::from(computed))) {
                        self.effects.checksum_error = true;
                    }
                }
            }
            "update_checksum" | "update_checksum_with_payload" => {
                let payload = function.ends_with("payload");
                if let Some(computed) = self.checksum_of(call, payload)? {
                    let computed = Bits::unsigned(64, u128::from(computed));
                    self.output(call, 2, Value::Bits(computed))?;
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `egress_spec` becomes the drop port, `mcast_grp` zero.
    fn mark_to_drop(&mut self, call: &Call<'_>) -> Result<(), Stop> {
        let Some(Argument::InOut(place) | Argument::Out(place)) = call.arguments.first() else {
            return Ok(());
        };
        let type_id = self.place_type(place);
        let place = self.resolve(place)?;
        let Some(type_id) = type_id else { return Ok(()) };
        let Some(mut metadata) = self.peek(&place).cloned() else { return Ok(()) };
        self.layout.set_field(&mut metadata, type_id, "egress_spec", DROP_PORT);
        self.layout.set_field(&mut metadata, type_id, "mcast_grp", 0);
        self.write(&place, metadata)
    }

    fn session(&self, call: &Call<'_>) -> Result<u32, Stop> {
        Ok(self.input_number(call, 1)? as u32)
    }

    fn field_list(&self, call: &Call<'_>, position: usize) -> Result<Option<u32>, Stop> {
        Ok(u32::try_from(self.input_number(call, position)?).ok())
    }

    /// The checksum that a call asks for; `None` if its condition is false or the checksum lies in
    /// an invalid header.
    fn checksum_of(&mut self, call: &Call<'_>, payload: bool) -> Result<Option<u64>, Stop> {
        if !self.input_bool(call, 0)? {
            return Ok(None);
        }
        let place = match call.arguments.get(2) {
            Some(Argument::In(expression)) => match &expression.kind {
                ExpressionKind::Read(place) => Some(place),
                _ => None,
            },
            Some(Argument::InOut(place)) => Some(place),
            _ => None,
        };
        if let Some(place) = place {
            let place = self.resolve(place)?;
            if self.is_in_invalid_header(&place) {
                return Ok(None);
            }
        }
        let mut data = self.input_data(call, 1)?;
        if payload {
            data.extend_from_slice(self.payload());
        }
        let algorithm = self.input_member(call, 3)?;
        self.hash(&algorithm, &data).map(Some)
    }

    /// A function that no architecture here has.
    pub(super) fn unknown(&self, call: &Call<'_>, function: &str) -> Stop {
        let place = self.at(call.location);
        RunError::UnknownExtern { place, name: function.to_owned() }.into()
    }
}
