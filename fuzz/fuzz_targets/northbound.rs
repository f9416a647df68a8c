#![no_main]

planimeter_fuzz::target!(northbound);
