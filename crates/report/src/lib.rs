//! What people look at: terminal tables, HTML with plots, CSV, JSON with a schema.
