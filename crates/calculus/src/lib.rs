//! Curves, min-plus algebra in exact arithmetic, and network analyses.
