//! A macro that appends formatted text to a string and returns nothing.

/// Appends formatted text to a string, like `write!`. It returns nothing, because writing to a
/// `String` cannot fail.
macro_rules! put {
    ($out:expr, $($argument:tt)*) => {{
        use std::fmt::Write as _;
        let _ = $out.write_fmt(format_args!($($argument)*));
    }};
}

pub(crate) use put;
