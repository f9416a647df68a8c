//! A macro that appends formatted text to a string without a result.

/// Appends formatted text to a string, like `write!`. It has no result, because writing to a
/// `String` cannot fail.
macro_rules! put {
    ($out:expr, $($argument:tt)*) => {{
        use std::fmt::Write as _;
        let _ = $out.write_fmt(format_args!($($argument)*));
    }};
}

pub(crate) use put;
