//! Enumerations and bit sets that preserve unknown values.
//!
//! A Rust `enum` would have to reject values that a newer specification or a vendor defines, or
//! contain them in a variant that can also contain known values. In a newtype with named constants,
//! every wire value has exactly one representation. Decoding and encoding therefore cannot change a
//! value, and `match` works with the constants.

/// Declares a newtype over an unsigned integer with named values.
///
/// `Debug` and `Display` print the name of a known value and the number of an unknown one.
macro_rules! open_enum {
    (
        $(#[$meta:meta])*
        $vis:vis $name:ident: $repr:ty {
            $($(#[$value_meta:meta])* $value:ident = $number:expr,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis struct $name($vis $repr);

        fields! { $name }

        impl $name {
            $($(#[$value_meta])* $vis const $value: Self = Self($number);)*

            /// Returns the name of the value in the specification, or `None` if the specification
            /// does not define the value.
            $vis const fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$value => Some(stringify!($value)),)*
                    _ => None,
                }
            }
        }

        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self.name() {
                    Some(name) => write!(f, concat!(stringify!($name), "::{}"), name),
                    None => write!(f, concat!(stringify!($name), "({:#x})"), self.0),
                }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, "{:#x}", self.0),
                }
            }
        }
    };
}

/// Declares a newtype over an unsigned integer whose bits have names.
macro_rules! bit_set {
    (
        $(#[$meta:meta])*
        $vis:vis $name:ident: $repr:ty {
            $($(#[$bit_meta:meta])* $bit:ident = $number:expr,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
        $vis struct $name($vis $repr);

        fields! { $name }

        impl $name {
            /// The value in which no bit is set.
            $vis const NONE: Self = Self(0);
            $($(#[$bit_meta])* $vis const $bit: Self = Self($number);)*

            /// Returns whether every bit of `other` is set in `self`.
            $vis const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// Returns the bits that are set in `self` but not in `other`.
            #[must_use]
            $vis const fn without(self, other: Self) -> Self {
                Self(self.0 & !other.0)
            }
        }

        impl ::std::ops::BitOr for $name {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }

        impl ::std::ops::BitOrAssign for $name {
            fn bitor_assign(&mut self, other: Self) {
                self.0 |= other.0;
            }
        }

        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                let mut rest = self.0;
                let mut separator = "";
                write!(f, concat!(stringify!($name), "("))?;
                $(
                    let bits: $repr = $number;
                    if bits != 0 && rest & bits == bits {
                        write!(f, "{separator}{}", stringify!($bit))?;
                        separator = " | ";
                        rest &= !bits;
                    }
                )*
                if rest != 0 || separator.is_empty() {
                    write!(f, "{separator}{rest:#x}")?;
                }
                f.write_str(")")
            }
        }
    };
}

#[cfg(test)]
mod tests {
    open_enum! {
        /// An open enum for the test.
        Colour: u8 {
            /// The only colour with a name.
            RED = 1,
        }
    }

    bit_set! {
        /// A bit set for the test.
        Sides: u16 {
            /// The bit of the left side.
            LEFT = 1,
            /// The bit of the right side.
            RIGHT = 2,
        }
    }

    #[test]
    fn known_and_unknown_values_print_as_what_they_are() {
        assert_eq!(format!("{:?} {}", Colour::RED, Colour::RED), "Colour::RED RED");
        assert_eq!(format!("{:?} {}", Colour(0x12), Colour(0x12)), "Colour(0x12) 0x12");
        assert_eq!(format!("{:?}", Sides::LEFT | Sides::RIGHT), "Sides(LEFT | RIGHT)");
        assert_eq!(format!("{:?}", Sides(0x11)), "Sides(LEFT | 0x10)");
        assert_eq!(format!("{:?}", Sides::NONE), "Sides(0x0)");
    }

    #[test]
    fn bits_combine() {
        let mut sides = Sides::LEFT;
        sides |= Sides::RIGHT;
        assert!(sides.contains(Sides::RIGHT));
        assert_eq!(sides.without(Sides::LEFT), Sides::RIGHT);
        assert!(!sides.without(Sides::LEFT).contains(Sides::LEFT | Sides::RIGHT));
    }
}
