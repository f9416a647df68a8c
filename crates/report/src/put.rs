//! Formatted text onto the end of a string.

/// `write!` without a result: writing to a `String` cannot fail.
macro_rules! put {
    ($out:expr, $($argument:tt)*) => {{
        use std::fmt::Write as _;
        let _ = $out.write_fmt(format_args!($($argument)*));
    }};
}

pub(crate) use put;
