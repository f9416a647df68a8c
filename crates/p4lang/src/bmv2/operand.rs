//! Translation of the operands of BMv2 JSON to the IR: parameters, registers, lookaheads, and the
//! places of fields, headers and stacks.

use serde_json::Value as Json;

use super::expression::WIDTH_LIMIT;
use super::headers::{FieldPlace, HeaderPlace, field_at, field_in, field_name};
use super::{Loader, Outcome};
use ir::{Expression, ExpressionKind, Place, Projection, StatementKind, Type};

impl Loader<'_> {
    /// Returns the variable and the width of a parameter of the current action. `value` is the
    /// parameter's position.
    pub(super) fn runtime(&self, value: &Json) -> Outcome<(ir::VariableId, u32)> {
        let position = value.as_u64().and_then(|position| usize::try_from(position).ok());
        match position.and_then(|position| self.runtime_data.get(position)) {
            Some(known) => Ok(*known),
            None => self.fail("an operand is a parameter that the action does not have"),
        }
    }

    pub(super) fn register(&self, value: &Json) -> Outcome<(ir::ExternId, Json)> {
        let name = value.get(0).and_then(Json::as_str).unwrap_or("");
        match (self.externs.get(name), value.get(1)) {
            (Some(id), Some(index)) => Ok((*id, index.clone())),
            _ => self.fail(format!("there is no register `{name}`")),
        }
    }

    pub(super) fn register_width(&self, id: ir::ExternId) -> u32 {
        self.program
            .externs
            .get(id.index())
            .and_then(|register| self.program.types.find(*register.type_arguments.first()?))
            .map_or(32, |ty| match ty {
                Type::Bits { width, .. } => width,
                _ => 32,
            })
    }

    /// Returns the offset and the width, in bits, of a lookahead in the JSON.
    pub(super) fn lookahead_of(&self, value: &Json) -> Outcome<(u32, u32)> {
        let number = |at: usize| {
            let number = value.get(at).and_then(Json::as_u64)?;
            u32::try_from(number).ok().filter(|number| *number <= WIDTH_LIMIT)
        };
        match (number(0), number(1)) {
            (Some(offset), Some(width)) if width > 0 => Ok((offset, width)),
            _ => self.fail("a lookahead has no offset or no width"),
        }
    }

    /// Translates a lookahead of the parser. Adds a statement that stores the bits in a temporary
    /// variable, and returns an expression that reads this variable.
    pub(super) fn lookahead(&mut self, value: &Json) -> Outcome<Expression> {
        let (offset, width) = self.lookahead_of(value)?;
        let type_id = self.bit_type(offset + width);
        let variable = self.variable("lookahead", type_id);
        self.push(StatementKind::Lookahead { result: Place::variable(variable), type_id });
        let whole = Expression { type_id, kind: ExpressionKind::Read(Place::variable(variable)) };
        if offset == 0 {
            return Ok(whole);
        }
        Ok(Expression {
            type_id: self.bit_type(width),
            kind: ExpressionKind::Slice { operand: Box::new(whole), high: width - 1, low: 0 },
        })
    }

    /// Returns the place in the IR of a field, which the JSON specifies by name or by an
    /// expression.
    pub(super) fn field(&mut self, value: &Json) -> Outcome<FieldPlace> {
        let (kind, inner) = self.typed(value)?;
        match kind {
            "field" => {
                let Some((header, field)) = field_name(inner) else {
                    return self.fail("a field has no header or no name");
                };
                match self.layout.field(&header, &field, &self.program) {
                    Some(known) => Ok(known),
                    None => self.fail(format!("there is no field `{header}.{field}`")),
                }
            }
            "stack_field" => {
                let Some((stack, field)) = field_name(inner) else {
                    return self.fail("a field of a stack has no stack or no name");
                };
                let known = self.layout.stacks.get(&stack).cloned();
                let found = known.and_then(|mut known| {
                    let element = self.element_type(known.type_id)?;
                    known.place.path.push(Projection::Last);
                    field_in(&known.place, element, &field, &self.program)
                });
                match found {
                    Some(found) => Ok(found),
                    None => self.fail(format!("there is no field `{field}` in stack `{stack}`")),
                }
            }
            "union_stack_field" => {
                let text = |at: usize| inner.get(at).and_then(Json::as_str).unwrap_or("");
                let (stack, member, field) = (text(0), text(1), text(2));
                let known = self.layout.stacks.get(stack).cloned();
                let found = known.and_then(|mut known| {
                    let union = self.element_type(known.type_id)?;
                    known.place.path.push(Projection::Last);
                    let (position, header) = self.union_member(union, member)?;
                    let place = known.place.field(position);
                    field_in(&place, header, field, &self.program)
                });
                match found {
                    Some(found) => Ok(found),
                    None => self.fail(format!("there is no field `{stack}.{member}.{field}`")),
                }
            }
            "expression" => {
                let (operator, left, right) = self.operation(inner)?;
                if operator == "access_field" {
                    return self.accessed_field(left, right);
                }
                self.fail(format!("`{operator}` stands where a field is expected"))
            }
            other => self.fail(format!("a {other} stands where a field is expected")),
        }
    }

    pub(super) fn element_type(&self, stack: ir::TypeId) -> Option<ir::TypeId> {
        match self.program.types.find(stack)? {
            Type::Stack { element, .. } => Some(element),
            _ => None,
        }
    }

    /// Returns the position of the header `member` in the header union type `union`, and the
    /// header's type.
    pub(super) fn union_member(
        &self,
        union: ir::TypeId,
        member: &str,
    ) -> Option<(u32, ir::TypeId)> {
        let composite = self.program.types.composite(union)?;
        let position = composite.fields.iter().position(|field| field.name == member)?;
        Some((position as u32, composite.fields.get(position)?.type_id))
    }

    pub(super) fn accessed_field(&mut self, left: &Json, right: &Json) -> Outcome<FieldPlace> {
        let header = self.header(left)?;
        let position = right.as_u64().and_then(|position| usize::try_from(position).ok());
        let found = position
            .and_then(|position| field_at(&header.place, header.type_id, position, &self.program));
        match found {
            Some(found) => Ok(found),
            None => self.fail("an operand is a field that its header does not have"),
        }
    }

    /// Returns the place in the IR of a header or header union to which the JSON refers.
    pub(super) fn header(&mut self, value: &Json) -> Outcome<HeaderPlace> {
        let (kind, inner) = self.typed(value)?;
        match kind {
            "header" | "header_union" => {
                let name = inner.as_str().unwrap_or("");
                let known = self.layout.headers.get(name).or(self.layout.unions.get(name));
                match known {
                    Some(known) => Ok(known.clone()),
                    None => self.fail(format!("there is no header `{name}`")),
                }
            }
            "expression" => {
                let (operator, left, right) = self.operation(inner)?;
                match operator {
                    "dereference_header_stack"
                    | "dereference_union_stack"
                    | "dereference_stack" => {
                        let mut stack = self.stack(left)?;
                        let Some(element) = self.element_type(stack.type_id) else {
                            return self
                                .fail("an index is applied to something that is not a stack");
                        };
                        let width = self.range(right)?.width.min(32);
                        let index = self.truncated(right, width)?;
                        stack.place.path.push(Projection::Element(Box::new(index)));
                        Ok(HeaderPlace { place: stack.place, type_id: element })
                    }
                    "access_union_header" => {
                        let union = self.header(left)?;
                        let member = right.as_u64().and_then(|position| {
                            let composite = self.program.types.composite(union.type_id)?;
                            composite.fields.get(usize::try_from(position).ok()?)
                        });
                        match (member.map(|member| member.type_id), right.as_u64()) {
                            (Some(type_id), Some(position)) => Ok(HeaderPlace {
                                place: union.place.field(position as u32),
                                type_id,
                            }),
                            _ => self.fail("an operand is a header that its union does not have"),
                        }
                    }
                    _ => self.fail(format!("`{operator}` stands where a header is expected")),
                }
            }
            other => self.fail(format!("a {other} stands where a header is expected")),
        }
    }

    /// Returns the place in the IR of a stack to which the JSON refers by name.
    pub(super) fn stack(&self, value: &Json) -> Outcome<HeaderPlace> {
        let (kind, inner) = self.typed(value)?;
        let name = inner.as_str().unwrap_or("");
        match (kind, self.layout.stacks.get(name)) {
            ("header_stack" | "header_union_stack", Some(known)) => Ok(known.clone()),
            _ => self.fail(format!("there is no header stack `{name}`")),
        }
    }

    /// Returns the place in the IR of a header, a header union or a stack to which the JSON refers.
    pub(super) fn whole(&mut self, value: &Json) -> Outcome<HeaderPlace> {
        match self.typed(value)?.0 {
            "header_stack" | "header_union_stack" => self.stack(value),
            _ => self.header(value),
        }
    }
}
