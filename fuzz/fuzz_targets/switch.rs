#![no_main]

planimeter_fuzz::target!(switch);
