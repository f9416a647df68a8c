//! Formatting of types in P4's notation, for diagnostics.

use std::fmt::Write as _;

use super::{Checked, Type};

/// The approximate length in bytes at which the text of a type is truncated.
const LONGEST: usize = 300;

impl Checked<'_> {
    /// Formats a type in the notation of P4.
    pub fn show(&self, ty: &Type) -> String {
        let mut out = String::new();
        self.write_type(ty, &mut out);
        out
    }

    fn write_list<'t>(&self, types: impl IntoIterator<Item = &'t Type>, out: &mut String) {
        for (position, ty) in types.into_iter().enumerate() {
            if position > 0 {
                out.push_str(", ");
            }
            self.write_type(ty, out);
        }
    }

    /// Appends a type to `out`, in the notation of P4.
    fn write_type(&self, ty: &Type, out: &mut String) {
        if out.len() > LONGEST {
            out.push_str("...");
            return;
        }
        // Writing to a string cannot fail.
        match ty {
            Type::Unknown => out.push_str("<unknown>"),
            Type::Void => out.push_str("void"),
            Type::Bool => out.push_str("bool"),
            Type::Error => out.push_str("error"),
            Type::MatchKind => out.push_str("match_kind"),
            Type::String => out.push_str("string"),
            Type::Integer => out.push_str("int"),
            Type::Bits { width, signed } => {
                let _ = write!(out, "{}<{width}>", if *signed { "int" } else { "bit" });
            }
            Type::Varbit { max_width } => {
                let _ = write!(out, "varbit<{max_width}>");
            }
            Type::Tuple(elements) => {
                out.push_str("tuple<");
                self.write_list(elements.iter(), out);
                out.push('>');
            }
            Type::Record(fields) => {
                out.push_str("struct {");
                for (position, (name, ty)) in fields.iter().enumerate() {
                    out.push_str(if position > 0 { ", " } else { " " });
                    self.write_type(ty, out);
                    let _ = write!(out, " {name}");
                }
                out.push_str(" }");
            }
            Type::List(element) => {
                out.push_str("list<");
                self.write_type(element, out);
                out.push('>');
            }
            Type::Stack { element, size } => {
                self.write_type(element, out);
                let _ = write!(out, "[{size}]");
            }
            Type::Struct(named)
            | Type::Header(named)
            | Type::HeaderUnion(named)
            | Type::Extern(named)
            | Type::Parser(named)
            | Type::Control(named)
            | Type::Package(named) => {
                out.push_str(&self.name(named.declaration));
                if !named.arguments.is_empty() {
                    out.push('<');
                    self.write_list(named.arguments.iter(), out);
                    out.push('>');
                }
            }
            Type::Enum(id)
            | Type::SerializableEnum(id)
            | Type::NewType(id)
            | Type::Variable(id) => {
                out.push_str(&self.name(*id));
            }
            Type::Table(id) => {
                let _ = write!(out, "table {}", self.name(*id));
            }
            Type::ApplyResult(id) => {
                let _ = write!(out, "apply_result({})", self.name(*id));
            }
            Type::ActionRun(id) => {
                let _ = write!(out, "action_list({})", self.name(*id));
            }
            Type::Callable => out.push_str("function"),
            Type::State => out.push_str("state"),
            Type::Set(element) => {
                out.push_str("set<");
                self.write_type(element, out);
                out.push('>');
            }
            Type::Any | Type::Inferred(_) => out.push('_'),
            Type::DefaultRest => out.push_str("..."),
            Type::Name(inner) => {
                out.push_str("type ");
                self.write_type(inner, out);
            }
        }
    }
}
