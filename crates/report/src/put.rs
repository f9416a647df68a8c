//! A macro that appends formatted text to a string.

/// Appends like `write!`, but without a result, because writing to a `String` cannot fail.
macro_rules! put {
    ($out:expr, $($argument:tt)*) => {{
        use std::fmt::Write as _;
        let _ = $out.write_fmt(format_args!($($argument)*));
    }};
}

pub(crate) use put;
